#!/usr/bin/env node
import { existsSync } from 'node:fs';

const entry = new URL('../dist/main.js', import.meta.url);
if (existsSync(entry)) {
  await import(entry.href);
} else {
  console.error('drover-agent is not built yet: run "npm run build" in the checkout first');
  process.exit(1);
}
