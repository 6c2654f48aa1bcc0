#!/usr/bin/env node
import { existsSync } from 'node:fs';

const PARENT_POLL_MS = 500;

const entry = new URL('../dist/main.js', import.meta.url);
if (existsSync(entry)) {
  if (process.env.npm_command === 'exec') endWithNpx();
  await import(entry.href);
} else {
  console.error('drover-agent is not built yet: run "npm run build" in the checkout first');
  process.exit(1);
}

/** npx dies of SIGTERM without passing it on: what it started then stops as if it had been asked itself. */
function endWithNpx() {
  const npx = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npx) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_POLL_MS).unref();
}
