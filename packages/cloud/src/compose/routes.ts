import {
  composeFile,
  composeFileAtVersion,
  composeFileVersion,
  createComposeFileBody,
  createdComposeFile,
  updateComposeFileBody,
} from '@drover/shared/api/compose';
import { ApiError } from '@drover/shared/api/errors';
import { confirmation } from '@drover/shared/api/fields';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../http/endpoint.js';
import type { ComposeFiles } from './files.js';

const tag = 'Compose files';

export function composeFileEndpoints(files: ComposeFiles): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/compose-files',
      operationId: 'listComposeFiles',
      tag,
      summary: 'All compose files, oldest first',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The compose files', schema: z.array(composeFile) } },
      errors: [],
      handle: async ({ caller }) => ({ status: 200, body: await files.list(caller.tenantKey) }),
    }),
    endpoint({
      method: 'post',
      path: '/compose-files',
      operationId: 'createComposeFile',
      tag,
      summary: 'Store a compose file',
      description: 'The content is checked against the Compose schema, and must have a service.',
      scope: 'compose-files:write',
      body: createComposeFileBody,
      answers: { 201: { description: 'Stored', schema: createdComposeFile } },
      errors: ['compose_file_exists'],
      handle: async ({ caller, body }) => {
        await files.create(caller.tenantKey, body);
        return { status: 201, body: { id: body.id } };
      },
    }),
    endpoint({
      method: 'get',
      path: '/compose-files/{id}',
      operationId: 'getComposeFile',
      tag,
      summary: 'One compose file, at its newest version',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The compose file', schema: composeFile } },
      errors: ['compose_file_not_found'],
      handle: async ({ caller, params }) => ({ status: 200, body: await files.get(caller.tenantKey, params.id) }),
    }),
    endpoint({
      method: 'patch',
      path: '/compose-files/{id}',
      operationId: 'updateComposeFile',
      tag,
      summary: 'Make a new version of a compose file',
      description: 'Robots keep the version they were assigned until they are assigned the file again.',
      scope: 'compose-files:write',
      body: updateComposeFileBody,
      answers: { 200: { description: 'Updated', schema: confirmation } },
      errors: ['compose_file_not_found'],
      handle: async ({ caller, params, body }) => {
        const version = await files.update(caller.tenantKey, params.id, body);
        return { status: 200, body: { message: `compose file ${params.id} is now at version ${version}` } };
      },
    }),
    endpoint({
      method: 'delete',
      path: '/compose-files/{id}',
      operationId: 'deleteComposeFile',
      tag,
      summary: 'Delete a compose file that no robot uses',
      scope: 'compose-files:write',
      answers: { 204: { description: 'Deleted' } },
      errors: ['compose_file_not_found', 'compose_file_in_use'],
      handle: async ({ caller, params }) => {
        await files.remove(caller.tenantKey, params.id);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'get',
      path: '/compose-files/{id}/versions',
      operationId: 'listComposeFileVersions',
      tag,
      summary: 'All versions of a compose file, oldest first',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The versions, without their contents', schema: z.array(composeFileVersion) } },
      errors: ['compose_file_not_found'],
      handle: async ({ caller, params }) => ({ status: 200, body: await files.versions(caller.tenantKey, params.id) }),
    }),
    endpoint({
      method: 'get',
      path: '/compose-files/{id}/versions/{version}',
      operationId: 'getComposeFileVersion',
      tag,
      summary: 'One version of a compose file',
      scope: 'compose-files:read',
      answers: { 200: { description: 'The version', schema: composeFileAtVersion } },
      errors: ['compose_file_not_found'],
      handle: async ({ caller, params }) => {
        const version = versionOf(params.version);
        return { status: 200, body: await files.atVersion(caller.tenantKey, params.id, version) };
      },
    }),
  ];
}

/** @throws ApiError invalid_request */
function versionOf(text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
  throw new ApiError('invalid_request', 'a version is a whole number from 1');
}
