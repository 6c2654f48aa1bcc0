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

  it('is not given to compose where variables stand too deep within each other', () => {
    const nested = (depth: number) => `${'${A:-'.repeat(depth)}x${'}'.repeat(depth)}`;
    const found = (command: string) => checkSelfContained({ services: { a: { command: [command] } } });
    expect(found(`${nested(20)} ${nested(20)} ${'$${'.repeat(30)}`)).toEqual([]);
    expect(found(nested(6000))).toMatchObject([{ rule: 'variables', path: 'services.a.command[0]' }]);
  });

  it.each([
    ['127.0.0.1:1-65535:1-65535', 0],
    ['10000-19999:10000-19999/udp', 1],
    ['1-65535', 0],
    [{ target: 80, published: '1-65535' }, 0],
  ])('is not given to compose where its ranges of ports stand for too many: %j', (port, at) => {
    const ports = [port, '80', 81, { target: 82 }];
    expect(checkSelfContained({ services: { a: { ports } } })).toMatchObject([
      { rule: 'ports', path: `services.a.ports[${at}]` },
    ]);
  });

  it('may publish some thousand ports', () => {
    const services = { a: { ports: ['5000-9999:5000-9999'] }, b: { ports: ['10000-14997:10000-14997', '80:80'] } };
    expect(checkSelfContained({ services })).toEqual([]);
    expect(checkSelfContained({ services: { ...services, c: { ports: ['1-2:1-2'] } } })).toHaveLength(1);
  });

  it('of any form is looked at without harm', () => {
    for (const services of [null, 5, 'x', [], { a: null }, { a: { volumes: 'x', environment: 5, extends: 7 } }]) {
      expect(checkSelfContained({ services, volumes: [1], configs: 'x', include: '' })).toEqual([]);
    }
  });
});
