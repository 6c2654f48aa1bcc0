#!/bin/sh
# Whether an agent runs here whose event loop turns: it counts up in a file every 5 s. Not whether the cloud is reached: an
# agent without a network is healthy, and keeps what it collects.
find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'drover-agent-beats.*' -size +0 -newermt '-30 seconds' 2>/dev/null | grep -q .
