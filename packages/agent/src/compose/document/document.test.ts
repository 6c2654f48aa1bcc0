import { describe, expect, it } from 'vitest';
import { checkSelfContained, variablesIn } from './document.js';

describe('the variables in a text', () => {
  it.each([
    ['plain', []],
    ['$$HOME $${HOME} $$$$HOME', []],
    ['$A ${B}', ['A', 'B']],
    ['$$$A', ['A']],
    ['${A:-x} ${B-} ${C:+x} ${D+x}', ['A=', 'B=', 'C=', 'D=']],
    ['${A:?must} ${B?must}', ['A', 'B']],
    ['${A:-${B}} ${C:-$D}', ['A=', 'B', 'C=', 'D']],
    ['$1 $ ${ ${1} 5$', []],
  ])('%j are %j', (text, names) => {
    expect(variablesIn(text).map(({ name, hasDefault }) => (hasDefault ? `${name}=` : name))).toEqual(names);
  });
});

describe('a document', () => {
  it('that needs nothing beside it is let through', () => {
    const content = {
      services: {
        a: {
          image: 'x:${TAG:-1}',
          extends: { service: 'b' },
          environment: { A: '', B: 0, C: '${COMPOSE_PROJECT_NAME}' },
          volumes: ['data:/data', '/data/x:/x', '/anonymous', { type: 'volume', source: 'data', target: '/y' }],
          env_file: [],
          build: null,
        },
      },
      configs: { c: { content: 'text' } },
    };
    expect(checkSelfContained(content)).toEqual([]);
  });

  it('is told all that it can not have here, by its path and with what to do instead', () => {
    const content = {
      include: ['other.yaml'],
      services: {
        a: { build: '.', env_file: '.env', develop: { watch: [] }, environment: ['A', 'B=1'], command: 'echo $TAG' },
        b: { extends: { file: 'x.yaml', service: 'a' }, volumes: ['./x:/x'], environment: { PATH: null } },
      },
      volumes: { v: { driver_opts: { type: 'none', o: 'bind', device: './data' } } },
      configs: { c: { file: 'c.txt' }, e: { environment: 'E' }, x: { external: true } },
      secrets: { s: { file: '/data/keys/s' } },
    };
    const found = checkSelfContained(content);
    expect(found.map(({ rule, path }) => `${rule} ${path}`)).toEqual([
      'files include',
      'files services.a.build',
      'files services.a.develop',
      'files services.a.env_file',
      'environment services.a.environment[0]',
      'files services.b.extends.file',
      'files services.b.volumes[0]',
      'environment services.b.environment.PATH',
      'files volumes.v.driver_opts.device',
      'files configs.c.file',
      'environment configs.e.environment',
      'files configs.x.external',
      'variables services.a.command',
    ]);
    for (const { message } of found) expect(message).toMatch(/:|must/);
  });

  it('of any form is looked at without harm', () => {
    for (const services of [null, 5, 'x', [], { a: null }, { a: { volumes: 'x', environment: 5, extends: 7 } }]) {
      expect(checkSelfContained({ services, volumes: [1], configs: 'x', include: '' })).toEqual([]);
    }
  });
});
