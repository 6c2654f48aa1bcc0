import { Agent, request } from 'node:http';

export interface HttpAnswer<T> {
  readonly status: number;
  readonly body: T;
}

/** JSON over connections that are kept, with as little around it as there can be: what is measured is the server. */
export class HttpClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #agent = new Agent({ keepAlive: true, noDelay: true });

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  ask<T>(method: string, path: string, body?: unknown): Promise<HttpAnswer<T>> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...this.#headers,
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    return new Promise((resolve, reject) => {
      const asked = request(this.#url + path, { method, headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, body: (answer === '' ? null : JSON.parse(answer)) as T });
        });
      });
      asked.on('error', reject);
      asked.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
