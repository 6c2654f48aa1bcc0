// Where a process spent its time, by its CPU profile: the functions by their own time, and the packages they belong to.
//
//   npm run bench -- ingest --windows 2 --profile /tmp/prof
//   node bench/profile.mjs /tmp/prof [--of cloud/dist/gateway] [--top 25]
//
// A profile a process; `--of` keeps those in which code of that path ran.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { of: { type: 'string', default: 'cloud/dist/gateway' }, top: { type: 'string', default: '25' } },
});
const [dir = '.'] = positionals;

for (const file of readdirSync(dir).filter((name) => name.endsWith('.cpuprofile'))) {
  const profile = JSON.parse(readFileSync(join(dir, file), 'utf8'));
  if (!profile.nodes.some(({ callFrame }) => callFrame.url.includes(values.of))) continue;
  print(file, profile);
}

function print(file, { nodes, samples, timeDeltas }) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byFunction = new Map();
  const byPlace = new Map();
  let busyUs = 0;
  for (const [at, id] of samples.entries()) {
    const frame = frames.get(id);
    const us = timeDeltas[at];
    if (frame.functionName === '(idle)' || frame.functionName === '(root)') continue;
    busyUs += us;
    add(byFunction, `${frame.functionName || '(anonymous)'}  ${shortened(frame.url)}:${frame.lineNumber + 1}`, us);
    add(byPlace, placeOf(frame), us);
  }
  console.log(`${file}: ${(busyUs / 1e6).toFixed(2)} s not idle`);
  table(byPlace, busyUs, 15);
  table(byFunction, busyUs, Number(values.top));
}

function add(sums, name, us) {
  sums.set(name, (sums.get(name) ?? 0) + us);
}

function table(sums, wholeUs, top) {
  const sorted = [...sums].sort(([, a], [, b]) => b - a).slice(0, top);
  for (const [name, us] of sorted) console.log(`${((us / wholeUs) * 100).toFixed(1).padStart(6)} %  ${name}`);
  console.log('');
}

function shortened(url) {
  return url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/packages\//, '');
}

/** The package, or what of V8 and Node it is. */
function placeOf({ functionName, url }) {
  if (url === '') return functionName.startsWith('(') ? functionName : 'native';
  if (url.startsWith('node:')) return 'node';
  const [, dependency] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  return dependency ?? /packages\/[^/]+/.exec(url)?.[0] ?? 'bench';
}
