import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** What the image of it says that it is made of. */
const SIZE = 10 ** 15;
const CONFIG = JSON.stringify({
  architecture: 'amd64',
  os: 'linux',
  rootfs: { type: 'layers', diff_ids: [] },
  config: {},
});
const CONFIG_TYPE = 'application/vnd.docker.container.image.v1+json';
const LAYER_TYPE = 'application/vnd.docker.image.rootfs.diff.tar.gzip';
const MANIFEST_TYPE = 'application/vnd.docker.distribution.manifest.v2+json';

/**
 * A registry on loopback with one image, larger than any disk, of which only the manifest can be had: a real registry takes no manifest of
 * what it does not hold.
 */
export class BoastingRegistry {
  readonly #server: Server;
  /** What was asked for that it does not have: of the image's layers, say. */
  readonly refused: string[] = [];
  image = '';

  private constructor() {
    const digest = digestOf(CONFIG);
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: { mediaType: CONFIG_TYPE, size: CONFIG.length, digest },
      layers: [{ mediaType: LAYER_TYPE, size: SIZE, digest: digestOf('a layer') }],
    });
    const bodies: Readonly<Record<string, readonly [type: string, body: string]>> = {
      '/v2/': ['application/json', '{}'],
      '/v2/huge/manifests/1': [MANIFEST_TYPE, manifest],
      [`/v2/huge/manifests/${digestOf(manifest)}`]: [MANIFEST_TYPE, manifest],
      [`/v2/huge/blobs/${digest}`]: ['application/octet-stream', CONFIG],
    };
    this.#server = createServer((request, response) => {
      const url = request.url ?? '';
      if (!(url in bodies)) this.refused.push(`${request.method} ${url}`);
      const [type, body] = bodies[url] ?? ['application/json', '{"errors":[]}'];
      response.writeHead(url in bodies ? 200 : 404, {
        'content-type': type,
        'content-length': body.length,
        'docker-content-digest': digestOf(body),
      });
      response.end(request.method === 'HEAD' ? '' : body);
    });
  }

  static async start(): Promise<BoastingRegistry> {
    const registry = new BoastingRegistry();
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    const address = registry.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the registry has no port');
    registry.image = `127.0.0.1:${address.port}/huge:1`;
    return registry;
  }

  /** Bytes of all that the image says it has. */
  get size(): number {
    return SIZE + CONFIG.length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
