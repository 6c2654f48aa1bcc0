import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../parse-json.js';
import type { DockerEnv } from './docker-env.js';

const HELPER_MS_MAX = 10_000;
/** Docker's own registry, as an image's name implies it, and as the configuration calls it. */
const HUB = 'docker.io';
const HUB_KEY = 'https://index.docker.io/v1/';
/** What a credential helper gives as the user where the secret is a token. */
const TOKEN_USER = '<token>';

const configSchema = z.object({
  auths: z
    .record(z.string(), z.object({ auth: z.string().optional(), identitytoken: z.string().optional() }))
    .optional(),
  credsStore: z.string().optional(),
  credHelpers: z.record(z.string(), z.string()).optional(),
});
const helperSchema = z.object({ Username: z.string(), Secret: z.string() });

/** As the engine takes it with a pull. */
export interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
  readonly serveraddress: string;
}

/**
 * What `docker login` has stored for the registry of an image (config.json in DOCKER_CONFIG or HOME/.docker, and its credential helpers);
 * null where there is nothing, or it can't be had: the registry then says what it thinks of that.
 */
export async function credentialsFor(image: string, env: DockerEnv): Promise<Credentials | null> {
  const config = readConfig(env);
  if (config === null) return null;
  const key = registryKey(image);
  const helper = config.credHelpers?.[key] ?? config.credsStore;
  if (helper !== undefined && helper !== '') return await askHelper(helper, key, env);
  const entry = Object.entries(config.auths ?? {}).find(([name]) => name === key || hostOf(name) === key)?.[1];
  if (entry === undefined) return null;
  if (entry.identitytoken) return { identitytoken: entry.identitytoken, serveraddress: key };
  const text = Buffer.from(entry.auth ?? '', 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  return { username: text.slice(0, colon), password: text.slice(colon + 1), serveraddress: key };
}

/** The registry in an image's name as docker's configuration calls it. */
export function registryKey(image: string): string {
  const slash = image.indexOf('/');
  const first = slash < 0 ? '' : image.slice(0, slash);
  const isHost = first.includes('.') || first.includes(':') || first === 'localhost';
  return !isHost || first === HUB || first === `index.${HUB}` ? HUB_KEY : first;
}

function hostOf(name: string): string {
  return name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
}

function readConfig(env: DockerEnv): z.infer<typeof configSchema> | null {
  const folder = env.DOCKER_CONFIG || join(env.HOME ?? '/', '.docker');
  try {
    return configSchema.parse(JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')));
  } catch {
    return null;
  }
}

function askHelper(helper: string, key: string, env: DockerEnv): Promise<Credentials | null> {
  // A path would be another program than docker starts.
  if (!/^[\w.-]+$/.test(helper)) return Promise.resolve(null);
  return new Promise((resolve) => {
    const options = { env, timeout: HELPER_MS_MAX };
    const child = execFile(`docker-credential-${helper}`, ['get'], options, (error, stdout) => {
      if (error !== null) return resolve(null);
      const said = helperSchema.safeParse(parseJson(stdout));
      if (!said.success) return resolve(null);
      const { Username: username, Secret: secret } = said.data;
      if (username === TOKEN_USER) return resolve({ identitytoken: secret, serveraddress: key });
      resolve({ username, password: secret, serveraddress: key });
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(key);
  });
}
