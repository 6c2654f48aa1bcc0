import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readPolicy } from './policy-file.js';

const guide = readFileSync(fileURLToPath(new URL('../../../../docs/deployments.md', import.meta.url)), 'utf8');

/** Of the table of rules: the rule's key, and what agent.yaml would say. */
const rows = [...guide.matchAll(/^\| `policy\.compose\.(\w+)` \|.*\| `([^`]+)` \|$/gm)].map(
  ([, key = '', snippet = '']) => ({ key, snippet }),
);

/** Of agent.yaml, by its own words. */
function knownKeys(): string[] {
  const [problem] = readPolicy({ compose: { '-': 0 } }).problems;
  return (problem?.message.split('known are ')[1] ?? '').split(', ');
}

describe('docs/deployments.md', () => {
  it('has every rule that there is, each once', () => {
    expect(rows.map(({ key }) => key).sort()).toEqual(knownKeys().sort());
  });

  it.each(rows)('says of $key what agent.yaml understands, and what is not the default', ({ key, snippet }) => {
    const read = readPolicy({ compose: parse(snippet) });
    expect(read.problems).toEqual([]);
    expect(Object.keys(parse(snippet))).toEqual([key]);
    expect(JSON.stringify(read.compose)).not.toBe(JSON.stringify(readPolicy({}).compose));
  });

  it('has examples of agent.yaml that are understood', () => {
    const blocks = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => parse(text));
    expect(blocks.length).toBeGreaterThan(0);
    for (const { policy } of blocks) expect(readPolicy(policy).problems).toEqual([]);
  });
});
