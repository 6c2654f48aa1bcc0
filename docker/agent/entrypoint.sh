#!/bin/sh
# Runs a command in the environment of ROS 2, and of the workspaces on top of it whose setup.sh DROVER_ROS_SETUP names
# (with spaces between them).
for setup in "/opt/ros/$ROS_DISTRO/setup.sh" $DROVER_ROS_SETUP; do
  if [ ! -r "$setup" ]; then
    echo "drover: $setup can't be read: mount the workspace, or mend DROVER_ROS_SETUP" >&2
    exit 78
  fi
  # A colcon workspace's script looks for the others beside itself.
  COLCON_CURRENT_PREFIX=$(dirname "$setup")
  . "$setup"
done
unset COLCON_CURRENT_PREFIX
exec "$@"
