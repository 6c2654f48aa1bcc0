#!/usr/bin/env node
import { existsSync } from 'node:fs';

const entry = new URL('../dist/simulated-robot.js', import.meta.url);
if (existsSync(entry)) {
  await import(entry.href);
} else {
  console.error('drover-simulated-robot is not built yet: run "npm run build" in the checkout first');
  process.exit(1);
}
