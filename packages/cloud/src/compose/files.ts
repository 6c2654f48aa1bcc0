/** The rules of compose files: checked when stored, versioned when changed, kept while a robot uses them. */
import type {
  ComposeFile,
  ComposeFileAtVersion,
  ComposeFileVersion,
  CreateComposeFileBody,
  UpdateComposeFileBody,
} from '@drover/shared/api/compose';
import { ApiError } from '@drover/shared/api/errors';
import { isUniqueViolation } from '../db/errors.js';
import type { Db, Store } from '../db/store.js';
import type { CheckCompose } from './content.js';
import { composeFilesOfTenant, composeVersionOf, composeVersionsOf, robotsUsing } from './store.js';

export class ComposeFiles {
  readonly #store: Store;
  readonly #check: CheckCompose;
  readonly #now: () => number;

  constructor(options: { store: Store; check: CheckCompose; now: () => number }) {
    this.#store = options.store;
    this.#check = options.check;
    this.#now = options.now;
  }

  /** All compose files of a tenant, oldest first. */
  async list(tenantKey: number): Promise<ComposeFile[]> {
    return (await composeFilesOfTenant(this.#store.db, tenantKey).execute()).map(shown);
  }

  /** @throws ApiError compose_file_not_found */
  async get(tenantKey: number, id: string): Promise<ComposeFile> {
    return shown(await this.row(tenantKey, id));
  }

  /** The file at its newest version. @throws ApiError compose_file_not_found */
  async row(tenantKey: number, id: string, db: Db = this.#store.db): Promise<ComposeRow> {
    const row = await composeFilesOfTenant(db, tenantKey).where('compose_files.id', '=', id).executeTakeFirst();
    if (!row) throw new ApiError('compose_file_not_found', `there is no compose file with the id ${id.slice(0, 64)}`);
    return row;
  }

  /** All versions of a file, oldest first. @throws ApiError compose_file_not_found */
  async versions(tenantKey: number, id: string): Promise<ComposeFileVersion[]> {
    const file = await this.row(tenantKey, id);
    const rows = await composeVersionsOf(this.#store.db, file.key).execute();
    return rows.map(({ version, name, created_at_ms: atMs }) => ({ version, name, created_at: timestampOf(atMs) }));
  }

  /** A version of a file, the newest where it is left out. @throws ApiError compose_file_not_found */
  async atVersion(tenantKey: number, id: string, version?: number): Promise<ComposeFileAtVersion> {
    const file = await this.row(tenantKey, id);
    const row = await this.version(file, version ?? file.version);
    const content = JSON.parse(row.content) as Record<string, unknown>;
    return { id, version: row.version, name: row.name, content, created_at: timestampOf(row.created_at_ms) };
  }

  /** @throws ApiError invalid_request where a document is no compose file */
  check(content: Record<string, unknown>): void {
    this.#check(content);
  }

  /** @throws ApiError compose_file_not_found */
  async version(file: ComposeRow, version: number, db: Db = this.#store.db): Promise<ComposeVersionRow> {
    const row = await composeVersionOf(db, file.key, version).executeTakeFirst();
    if (row) return row;
    const message = `compose file ${file.id} has no version ${version}; its newest is ${file.version}`;
    throw new ApiError('compose_file_not_found', message);
  }

  /** @throws ApiError invalid_request, compose_file_exists */
  async create(tenantKey: number, body: CreateComposeFileBody): Promise<void> {
    this.#check(body.content);
    const nowMs = this.#now();
    try {
      await this.#store.db.transaction().execute(async (tx) => {
        const { key } = await tx
          .insertInto('compose_files')
          .values({ tenant_key: tenantKey, id: body.id, version: 1, created_at_ms: nowMs })
          .returning('key')
          .executeTakeFirstOrThrow();
        await insertVersion(tx, key, 1, { name: body.name ?? body.id, content: JSON.stringify(body.content) }, nowMs);
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new ApiError('compose_file_exists', `there is a compose file with the id ${body.id} already`);
    }
  }

  /** Makes a new version and returns its number. @throws ApiError invalid_request, compose_file_not_found */
  async update(tenantKey: number, id: string, body: UpdateComposeFileBody): Promise<number> {
    if (body.content) this.#check(body.content);
    return this.#store.db.transaction().execute(async (tx) => {
      const row = await this.row(tenantKey, id, tx);
      const version = row.version + 1;
      const content = body.content ? JSON.stringify(body.content) : row.content;
      await insertVersion(tx, row.key, version, { name: body.name ?? row.name, content }, this.#now());
      await tx.updateTable('compose_files').set({ version }).where('key', '=', row.key).execute();
      return version;
    });
  }

  /** @throws ApiError compose_file_not_found, compose_file_in_use */
  async remove(tenantKey: number, id: string): Promise<void> {
    await this.#store.db.transaction().execute(async (tx) => {
      const { key } = await this.row(tenantKey, id, tx);
      const users = await robotsUsing(tx, { tenantKey, key, id }).limit(6).execute();
      if (users.length > 0) {
        const names = users.slice(0, 5).map((user) => user.id);
        const words = names.join(', ') + (users.length > 5 ? ', …' : '');
        throw new ApiError('compose_file_in_use', `compose file ${id} is in use on ${words}`);
      }
      // What is left are robots where it is down: nothing runs there that this file would describe.
      await tx.deleteFrom('robot_compose').where('compose_file_key', '=', key).execute();
      await tx.deleteFrom('compose_files').where('key', '=', key).execute();
    });
  }
}

export type ComposeVersionRow = Awaited<ReturnType<ReturnType<typeof composeVersionOf>['execute']>>[number];
export type ComposeRow = Awaited<ReturnType<ReturnType<typeof composeFilesOfTenant>['execute']>>[number];

function shown(row: ComposeRow): ComposeFile {
  return {
    id: row.id,
    name: row.name,
    content: JSON.parse(row.content) as Record<string, unknown>,
    created_at: timestampOf(row.created_at_ms),
  };
}

function timestampOf(ms: number): string {
  return new Date(ms).toISOString();
}

async function insertVersion(
  db: Db,
  fileKey: number,
  version: number,
  what: { name: string; content: string },
  nowMs: number,
): Promise<void> {
  await db
    .insertInto('compose_versions')
    .values({ compose_file_key: fileKey, version, ...what, created_at_ms: nowMs })
    .execute();
}
