#!/bin/sh
# The agent, and beside it a simulated robot on real ROS 2: what docker/compose.yaml starts. The robot is started anew when
# it ends, and ends with the container.
(
  while :; do
    drover-simulated-robot
    sleep 1
  done
) &
exec drover-agent
