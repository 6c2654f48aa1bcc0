# The agent on the official ROS 2 image of a distribution. Built from the root of the checkout:
#
#   docker build -f docker/agent.Dockerfile --build-arg ROS_DISTRO=jazzy -t drover-agent:jazzy .
#
# ROS_PACKAGES names ROS packages to install for the types that your robot's nodes speak, without their `ros-jazzy-`:
# --build-arg ROS_PACKAGES="nav2-msgs tf2-msgs". Its data is in /var/lib/drover, a volume: the robot's memory of what it
# ran. docs/install.md, "In containers", says how to run it beside ROS nodes and with the machine's Docker Engine.

ARG ROS_DISTRO=jazzy
ARG NODE_BUILD_IMAGE=node:20-bookworm
# The first has a compiler, the second is what runs.
ARG ROS_BUILD_IMAGE=ros:${ROS_DISTRO}-ros-base
ARG ROS_IMAGE=ros:${ROS_DISTRO}-ros-core
ARG DOCKER_CLI_IMAGE=docker:cli

# What both images are made of; the same lines in both Dockerfiles, so that a builder makes these two stages once.
FROM ${NODE_BUILD_IMAGE} AS dependencies
# Node's headers are in the image: node-gyp would fetch them. It compiles on all cores.
ENV npm_config_nodedir=/usr/local JOBS=max
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/shared/package.json packages/shared/
COPY packages/cloud/package.json packages/cloud/
COPY packages/agent/package.json packages/agent/
RUN npm ci --ignore-scripts --no-audit --no-fund \
 && npm rebuild better-sqlite3 \
 && cp node_modules/better-sqlite3/build/Release/better_sqlite3.node /opt/

# JavaScript from TypeScript, without what only compilers and tests read.
FROM dependencies AS javascript
COPY tsconfig.base.json ./
COPY packages packages
RUN npx tsc -b packages/cloud packages/agent \
 && find packages -path '*/dist/*' -type d -name testing -prune -exec rm -r {} + \
 && find packages -path '*/dist/*' -type f \
      \( -name '*.d.ts' -o -name '*.map' -o -name '*test.js' -o -name '*fixture.js' -o -name .tsbuildinfo \) -delete

# What the agent needs to run and nothing more, but for what is built against a ROS.
FROM dependencies AS packages
RUN npm ci --omit=dev --workspace packages/agent --ignore-scripts --prefer-offline --no-audit --no-fund \
 && install -D /opt/better_sqlite3.node node_modules/better-sqlite3/build/Release/better_sqlite3.node \
 && rm -rf packages/cloud node_modules/@types node_modules/better-sqlite3/deps node_modules/better-sqlite3/src

FROM ${DOCKER_CLI_IMAGE} AS docker

# With rclnodejs built against this ROS and for these packages.
FROM ${ROS_BUILD_IMAGE} AS modules
ARG ROS_DISTRO
ARG ROS_PACKAGES="example-interfaces tf2-msgs"
RUN if [ -n "$ROS_PACKAGES" ]; then \
      apt-get update \
      && apt-get install -y --no-install-recommends $(for name in $ROS_PACKAGES; do echo "ros-$ROS_DISTRO-$name"; done); \
    fi
COPY --from=javascript /usr/local/bin/node /usr/local/bin/node
COPY --from=javascript /usr/local/include/node /usr/local/include/node
COPY --from=javascript /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
# rclnodejs runs npx, which would ask.
ENV npm_config_nodedir=/usr/local npm_config_yes=true
WORKDIR /app
COPY --from=packages /app ./
# Loaded here with nothing on PATH, as it would try to build itself where it can't be.
RUN . "/opt/ros/$ROS_DISTRO/setup.sh" \
 && npm rebuild rclnodejs \
 && PATH=/nonexistent /usr/local/bin/node -e "require('rclnodejs'); new (require('better-sqlite3'))(':memory:')" \
 && test -e node_modules/rclnodejs/build/Release/rclnodejs.node \
 && rm -rf node_modules/rclnodejs/prebuilds \
 && find node_modules/rclnodejs/build -type f ! -path '*/build/Release/rclnodejs.node' -delete
COPY --from=javascript /app/packages/shared/dist packages/shared/dist
COPY --from=javascript /app/packages/agent/dist packages/agent/dist
COPY packages/agent/bin packages/agent/bin
COPY docker/agent docker

FROM ${ROS_IMAGE}
ARG ROS_DISTRO
ARG ROS_PACKAGES="example-interfaces tf2-msgs"
LABEL org.opencontainers.image.title="drover-agent" \
      org.opencontainers.image.description="Drover's agent on ROS 2 ${ROS_DISTRO}"
RUN if [ -n "$ROS_PACKAGES" ]; then \
      apt-get update \
      && apt-get install -y --no-install-recommends $(for name in $ROS_PACKAGES; do echo "ros-$ROS_DISTRO-$name"; done) \
      && rm -rf /var/lib/apt/lists/*; \
    fi
RUN groupadd --gid 10001 drover \
 && useradd --uid 10001 --gid drover --home-dir /var/lib/drover --no-create-home --shell /usr/sbin/nologin drover \
 && install -d -o drover -g drover -m 0700 /var/lib/drover
COPY --from=docker /usr/local/bin/docker /usr/local/bin/docker
COPY --from=docker /usr/local/libexec/docker/cli-plugins/docker-compose /usr/local/libexec/docker/cli-plugins/docker-compose
COPY --from=javascript /usr/local/bin/node /usr/local/bin/node
COPY --from=modules /app /app
RUN ln -s /app/packages/agent/bin/drover-agent /usr/local/bin/drover-agent \
 && ln -s /app/packages/agent/bin/drover-simulated-robot.js /usr/local/bin/drover-simulated-robot
# UDP, as in a container shared memory reaches nobody outside, and DDS does not notice: what it sent would just be lost.
ENV NODE_ENV=production HOME=/var/lib/drover DROVER_DATA_DIR=/var/lib/drover DROVER_ROS=rclnodejs \
    ROS_DISTRO=${ROS_DISTRO} ROS_LOG_DIR=/tmp/ros-log FASTDDS_BUILTIN_TRANSPORTS=UDPv4
USER drover
WORKDIR /var/lib/drover
VOLUME /var/lib/drover
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/app/docker/health.sh"]
ENTRYPOINT ["/app/docker/entrypoint.sh"]
# Under its supervisor, which passes signals on and starts it anew after a crash inside ROS.
CMD ["drover-agent"]
