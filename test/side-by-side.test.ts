import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['packages/shared/src', 'packages/cloud/src', 'packages/agent/src', 'test'];

/** DDS listens from port 7400 + 250 × the domain on: above this one, where the system takes ports for whoever wants any. */
const DOMAIN_MAX = 101;

/** The test files by the ROS domains that they name (`DOMAIN_ID = …`, `domainId: …`). */
function filesByDomain(): Map<number, string[]> {
  const byDomain = new Map<number, string[]>();
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(checkout, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.test.ts') || name.includes('node_modules')) continue;
      const text = readFileSync(join(checkout, folder, name), 'utf8');
      const named = [...text.matchAll(/(?:DOMAIN_ID = |domainId: )(.*)/g)].flatMap(
        ([, said = '']) => said.match(/\b[1-9]\d*\b/g) ?? [],
      );
      for (const domain of new Set(named.map(Number))) {
        byDomain.set(domain, [...(byDomain.get(domain) ?? []), join(folder, name)]);
      }
    }
  }
  return byDomain;
}

it('test files that run side by side are each on a ROS domain of their own', () => {
  const byDomain = filesByDomain();
  expect(byDomain.size).toBeGreaterThan(15);
  expect([...byDomain].filter(([, files]) => files.length > 1)).toEqual([]);
  expect([...byDomain.keys()].filter((domain) => domain > DOMAIN_MAX)).toEqual([]);
});
