import { describe, expect, it } from 'vitest';
import { type Document, refusals, service } from './compose.fixture.js';

/** The rules that refuse it, and where. */
function rules(document: Document, compose: object = {}): string[] {
  return refusals(document, compose).map(({ rule, path }) => `${rule} at ${path}`);
}

describe('images', () => {
  const image = (name: string | null) => service({ image: name });
  const allow = { images: { allow: ['nginx', 'registry.example.com/robots/**', 'ros:jazzy*'] } };
  const REFUSED = ['policy.compose.images.allow at services.web.image'];

  it.each([
    ['nginx', true],
    ['nginx:1.27', true],
    ['docker.io/library/nginx:1', true],
    ['index.docker.io/library/nginx', true],
    ['nginx@sha256:abc', true],
    ['evil/nginx', false],
    ['example.com/nginx', false],
    ['registry.example.com/robots/a/b:1', true],
    ['registry.example.com/robots', true],
    ['registry.example.com/robotsx/a', false],
    ['registry.example.com.evil.org/robots/a', false],
    ['docker.io/registry.example.com/robots/a', false],
    ['ros:jazzy-base', true],
    ['ros', false],
    ['ros:humble', false],
    // The engine goes by the digest, whatever the tag says.
    ['ros:jazzy@sha256:abc', false],
  ])('on a list: %s is allowed: %s', (name, isAllowed) => {
    expect(rules(image(name), allow)).toEqual(isAllowed ? [] : REFUSED);
  });

  it('are denied by a rule with its name, a digest or not', () => {
    const policy = { images: { deny: [{ match: 'evil/*', rule: 'no evil' }, 'ros:humble'] } };
    expect(rules(image('docker.io/evil/x:1'), policy)).toEqual(['no evil at services.web.image']);
    expect(rules(image('ros:humble@sha256:abc'), policy)).toEqual([
      'policy.compose.images.deny[1] at services.web.image',
    ]);
    expect(rules(image('ros:jazzy'), policy)).toEqual([]);
  });

  it('are not of the newest tag where only a digest is said', () => {
    const policy = { images: { deny: ['**:latest'] } };
    expect(rules(image('ros@sha256:abc'), policy)).toEqual([]);
    for (const newest of ['ros', 'ros:latest', 'ros:latest@sha256:abc', 'example.com/a/b']) {
      expect(rules(image(newest), policy)).toHaveLength(1);
    }
    expect(rules(image('ros@sha256:abc'), { images: { deny: ['ros:*'] } })).toHaveLength(1);
  });

  it('are not named by their id where there are rules for names', () => {
    const policy = { images: { deny: ['evil/*'] } };
    for (const id of ['sha256:2a2608d34718', '2a2608d34718', 'beef']) {
      expect(rules(image(id), policy)).toEqual(['policy.compose.images at services.web.image']);
    }
    expect(rules(image(null), policy)).toEqual(['policy.compose.images at services.web.image']);
    expect(rules(image('beef:1'), policy)).toEqual([]);
  });

  it('that are mounted are judged as well', () => {
    const mount = { type: 'image', source: 'evil/x', target: '/x' };
    expect(rules(service({ image: 'nginx', volumes: [mount] }), allow)).toEqual([
      'policy.compose.images.allow at services.web.volumes[0].source',
    ]);
  });
});

describe('ports', () => {
  const port = (published: unknown) => service({ ports: [{ target: 80, published, protocol: 'tcp' }] });

  it('are those that the policy lets a document have', () => {
    const policy = { ports: { allow: ['8000-8999'], deny: [{ match: 8080, rule: 'ours' }] } };
    expect(rules(port('8000'), policy)).toEqual([]);
    expect(rules(port('8080'), policy)).toEqual(['ours at services.web.ports[0]']);
    expect(rules(port('8070-8090'), policy)).toEqual(['ours at services.web.ports[0]']);
    expect(rules(port('8990-9000'), policy)).toEqual(['policy.compose.ports.allow at services.web.ports[0]']);
    expect(rules(port('80 '), policy)).toEqual(['policy.compose.ports at services.web.ports[0]']);
    expect(rules(port(undefined), policy)).toEqual([]);
    expect(rules(port('22'))).toEqual([]);
  });
});
