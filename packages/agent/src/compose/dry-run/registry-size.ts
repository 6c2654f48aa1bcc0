import { execFile } from 'node:child_process';
import { z } from 'zod';
import { parseJson } from '../../parse-json.js';
import type { DockerEnv } from '../docker/docker-env.js';

const ASK_MS_MAX = 8_000;
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;

const sized = z.object({ size: z.number().nonnegative(), digest: z.string().optional() });
const manifest = z.object({ config: sized.optional(), layers: z.array(sized) });
const entry = z.object({
  Descriptor: z
    .object({ platform: z.object({ architecture: z.string(), os: z.string() }).partial().optional() })
    .optional(),
  SchemaV2Manifest: manifest.optional(),
  OCIManifest: manifest.optional(),
});
const answer = z.union([z.array(entry), entry.transform((one) => [one])]);

/** What an image would be to download; null where the registry does not tell, with its words. */
export type DownloadSize =
  | { readonly bytes: number; readonly message: null }
  | { readonly bytes: null; readonly message: string };

/**
 * Asks the registry for an image's manifest, with the credentials that docker has. Nothing of the image is fetched.
 * @param platform of the engine, as `docker version` says: `linux/arm64`.
 */
export function downloadSize(image: string, platform: string, env: DockerEnv): Promise<DownloadSize> {
  // One on this machine may have no TLS; the engine takes it so, too.
  const insecure = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?\//.test(image) ? ['--insecure'] : [];
  const args = ['manifest', 'inspect', '--verbose', ...insecure, '--', image];
  const options = { env, timeout: ASK_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile('docker', args, options, (error, stdout, stderr) => {
      const said = stderr.trim().split('\n').at(-1) ?? '';
      if (error !== null) return resolve(untold(error.killed ? 'it has not answered in time' : said || error.message));
      const bytes = sizeOf(stdout, platform);
      resolve(bytes === null ? untold('its manifest is of another form') : { bytes, message: null });
    });
  });
}

function untold(words: string): DownloadSize {
  return { bytes: null, message: `the registry did not tell the size: ${words}`.slice(0, 1024) };
}

function sizeOf(text: string, platform: string): number | null {
  const read = answer.safeParse(parseJson(text));
  if (!read.success) return null;
  const isOurs = ({ Descriptor }: z.infer<typeof entry>) =>
    `${Descriptor?.platform?.os}/${Descriptor?.platform?.architecture}` === platform;
  const one = read.data.length === 1 ? read.data[0] : read.data.find(isOurs);
  const found = one?.SchemaV2Manifest ?? one?.OCIManifest;
  if (!found) return null;
  const layers = new Map(found.layers.map(({ digest, size }, index) => [digest ?? String(index), size]));
  return [...layers.values()].reduce((sum, size) => sum + size, found.config?.size ?? 0);
}
