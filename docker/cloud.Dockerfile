# The cloud. Built from the root of the checkout, on any architecture that its base images have:
#
#   docker build -f docker/cloud.Dockerfile -t drover-cloud .
#
# Its data is in /var/lib/drover, a volume. Everything after the image's name goes to drover-cloud: `keys list`, `--help`.

ARG NODE_BUILD_IMAGE=node:20-bookworm
ARG NODE_IMAGE=node:20-bookworm-slim

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

# What the cloud needs to run and nothing more: npm would keep TypeScript, which a dependency could use, and types.
FROM dependencies AS modules
RUN npm ci --omit=dev --workspace packages/cloud --ignore-scripts --prefer-offline --no-audit --no-fund \
 && install -D /opt/better_sqlite3.node node_modules/better-sqlite3/build/Release/better_sqlite3.node \
 && rm -rf packages/agent node_modules/typescript node_modules/@typescript node_modules/@types \
      node_modules/better-sqlite3/deps node_modules/better-sqlite3/src
COPY --from=javascript /app/packages/shared/dist packages/shared/dist
COPY --from=javascript /app/packages/cloud/dist packages/cloud/dist
COPY packages/cloud/bin packages/cloud/bin
COPY docker/cloud docker

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="drover-cloud" \
      org.opencontainers.image.description="Drover's cloud gateway: the REST API and robots' sessions"
RUN groupadd --gid 10001 drover \
 && useradd --uid 10001 --gid drover --home-dir /var/lib/drover --no-create-home --shell /usr/sbin/nologin drover \
 && install -d -o drover -g drover -m 0700 /var/lib/drover
COPY --from=modules /app /app
ENV NODE_ENV=production DROVER_HOST=0.0.0.0 DROVER_DATA_DIR=/var/lib/drover
USER drover
WORKDIR /var/lib/drover
VOLUME /var/lib/drover
EXPOSE 8080
# That the process answers, not that its disk takes writes (/readyz): a restart would not help that.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DROVER_PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node itself, which gets the signals: npx or npm would not pass them on.
ENTRYPOINT ["node", "/app/packages/cloud/bin/drover-cloud.js"]
