#!/usr/bin/env node
import { existsSync } from 'node:fs';

const PARENT_POLL_MS = 250;

const entry = new URL('../dist/main.js', import.meta.url);
if (existsSync(entry)) {
  const { npm_command, DROVER_SUPERVISOR, DROVER_SUPERVISOR_PARENT } = process.env;
  const underNpx = npm_command === 'exec';
  if (DROVER_SUPERVISOR) endWith(Number(DROVER_SUPERVISOR), underNpx ? Number(DROVER_SUPERVISOR_PARENT) : null);
  else if (underNpx) endWith(process.ppid, null);
  await import(entry.href);
} else {
  console.error('drover-agent is not built yet: run "npm run build" in the checkout first');
  process.exit(1);
}

/**
 * Ends once the parent is gone. A supervisor only goes before us by kill -9, which was meant for us too: the next agent
 * may be waiting for our files. npx dies of SIGTERM without passing it on: we stop as if asked to ourselves.
 * `grandparent`: npx, where the supervisor stands between.
 */
function endWith(parent, grandparent) {
  const timer = setInterval(() => {
    const orphaned = process.ppid !== parent;
    if (!orphaned && (grandparent === null || isThere(grandparent))) return;
    clearInterval(timer);
    process.kill(process.pid, orphaned && process.env.DROVER_SUPERVISOR ? 'SIGKILL' : 'SIGTERM');
  }, PARENT_POLL_MS).unref();
}

function isThere(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
