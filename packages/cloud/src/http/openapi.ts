/** /openapi.json, made from the endpoints that the router is made from. */
import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import { type ApiErrorCode, errorBody } from '@drover/shared/api/errors';
import { API_KEY_HEADER } from '@drover/shared/api/keys';
import { RELEASE_DATE } from '@drover/shared/release';
import { z } from 'zod';
import type { Endpoint } from './endpoint.js';
import { STATUS_OF } from './errors.js';

const JSON_TYPE = 'application/json';
const ERROR_WORDS: Readonly<Record<number, string>> = {
  400: 'The request is not valid',
  401: 'No valid API key',
  403: 'The API key lacks a scope',
  404: 'Not found',
  409: 'In conflict with what is there',
  413: 'Too large',
  415: 'The body is not declared as JSON',
  429: 'Too much at once',
  500: 'Our fault',
  503: 'The store can not be used, or the robot can not be asked, at the moment',
};

export type OpenApiDocument = ReturnType<OpenApiGeneratorV31['generateDocument']>;

export function openApiDocument(endpoints: readonly Endpoint[]): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'apiKey', { type: 'apiKey', in: 'header', name: API_KEY_HEADER });
  for (const endpoint of endpoints) {
    const names = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => String(match[1]));
    registry.registerPath({
      method: endpoint.method,
      path: endpoint.path,
      operationId: endpoint.operationId,
      summary: endpoint.summary,
      description: [endpoint.description, `Scope: \`${endpoint.scope}\`.`].filter(Boolean).join(' '),
      tags: [endpoint.tag],
      security: [{ apiKey: [] }],
      request: {
        ...(names.length > 0
          ? { params: z.object(Object.fromEntries(names.map((name) => [name, parameter(name)]))) }
          : {}),
        ...(endpoint.query instanceof z.ZodObject ? { query: endpoint.query } : {}),
        ...(endpoint.headers ? { headers: endpoint.headers } : {}),
        ...(endpoint.body ? { body: { required: true, content: { [JSON_TYPE]: { schema: endpoint.body } } } } : {}),
      },
      responses: { ...successes(endpoint), ...failures(endpoint) },
    });
  }
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: { title: 'Drover', version: RELEASE_DATE, description: 'A control plane for fleets of ROS 2 robots.' },
    servers: [{ url: '/' }],
  });
}

const PARAMETERS: Readonly<Record<string, string>> = {
  stream: 'the stream’s source, percent-encoded (`%2Fodom`)',
  pkg: 'the type’s package (`geometry_msgs`)',
  kind: '`msg`, `srv` or `action`',
  name: 'the type’s own name (`Twist`)',
  version: 'the version’s number, from 1',
  service: 'the service’s name in the compose file',
};

function parameter(name: string): z.ZodString {
  return z.string().meta({ description: PARAMETERS[name] ?? name });
}

function successes(endpoint: Endpoint) {
  return Object.fromEntries(
    Object.entries(endpoint.answers).map(([status, { description, schema }]) => [
      status,
      { description, ...(schema ? { content: { [JSON_TYPE]: { schema } } } : {}) },
    ]),
  );
}

function failures(endpoint: Endpoint) {
  const codes: ApiErrorCode[] = ['unauthenticated', 'forbidden', 'internal_error', 'unavailable', ...endpoint.errors];
  if (endpoint.query || endpoint.body || endpoint.path.includes('{')) codes.push('invalid_request');
  if (endpoint.body) codes.push('payload_too_large', 'unsupported_media_type');
  const byStatus = new Map<number, ApiErrorCode[]>();
  for (const code of codes) byStatus.set(STATUS_OF[code], [...(byStatus.get(STATUS_OF[code]) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      String(status),
      {
        description: `${ERROR_WORDS[status] ?? 'Error'}: ${[...new Set(ofStatus)].map((code) => `\`${code}\``).join(', ')}`,
        content: { [JSON_TYPE]: { schema: errorBody } },
      },
    ]),
  );
}
