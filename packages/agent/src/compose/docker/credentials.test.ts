import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';
import { credentialsFor, registryKey } from './credentials.js';

function home(config: unknown): string {
  const dir = tempDataDir();
  mkdirSync(join(dir, '.docker'));
  writeFileSync(join(dir, '.docker', 'config.json'), typeof config === 'string' ? config : JSON.stringify(config));
  return dir;
}
const auth = (text: string) => Buffer.from(text).toString('base64');

describe('the credentials of a registry', () => {
  it('are those that docker login has stored for it', async () => {
    const auths = {
      'registry.example:5000': { auth: auth('me:pass:word') },
      'https://index.docker.io/v1/': { auth: auth('hub:pw') },
    };
    const env = { HOME: home({ auths }) };
    expect(await credentialsFor('registry.example:5000/app:1', env)).toEqual({
      username: 'me',
      password: 'pass:word',
      serveraddress: 'registry.example:5000',
    });
    expect(await credentialsFor('ros:jazzy', env)).toMatchObject({ username: 'hub' });
    expect(await credentialsFor('other.example/app', env)).toBeNull();
  });

  it('come from a helper where the configuration names one', async () => {
    const HOME = home({ credHelpers: { 'registry.example': 'drover-test' } });
    const helper = join(HOME, 'docker-credential-drover-test');
    writeFileSync(helper, `#!/bin/sh\nread -r key\necho "{\\"Username\\":\\"$key\\",\\"Secret\\":\\"s\\"}"\n`);
    chmodSync(helper, 0o755);
    const env = { HOME, PATH: `${HOME}:${process.env.PATH}` };
    expect(await credentialsFor('registry.example/app:1', env)).toMatchObject({
      username: 'registry.example',
      password: 's',
    });
    expect(await credentialsFor('registry.example/app:1', { HOME, PATH: '/nowhere' })).toBeNull();
  });

  it('are none where there is no configuration, or one that makes no sense', async () => {
    expect(await credentialsFor('a.example/app', { HOME: tempDataDir() })).toBeNull();
    expect(await credentialsFor('a.example/app', { HOME: home('{') })).toBeNull();
  });

  it('are looked up as docker calls the registry in the name', () => {
    expect(registryKey('ros')).toBe('https://index.docker.io/v1/');
    expect(registryKey('library/ros')).toBe('https://index.docker.io/v1/');
    expect(registryKey('docker.io/library/ros')).toBe('https://index.docker.io/v1/');
    expect(registryKey('localhost/app')).toBe('localhost');
    expect(registryKey('127.0.0.1:5000/app@sha256:00')).toBe('127.0.0.1:5000');
  });
});
