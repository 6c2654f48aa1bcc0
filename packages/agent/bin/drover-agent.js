#!/usr/bin/env node
import { existsSync } from 'node:fs';

const PARENT_POLL_MS = 500;

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
 * Stops, as if asked to, once the parent is gone: a supervisor that was killed can't say so, and npx dies of SIGTERM
 * without passing it on. `grandparent`: npx, where the supervisor stands between.
 */
function endWith(parent, grandparent) {
  const timer = setInterval(() => {
    if (process.ppid === parent && (grandparent === null || isThere(grandparent))) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
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
