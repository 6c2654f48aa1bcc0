/**
 * An endpoint as one value: what it is called, what it takes, what it answers, who may call it, and the function that
 * does it. The router and the OpenAPI document are both made from it, so that neither can say what the other doesn't.
 */
import type { ApiErrorCode } from '@drover/shared/api/errors';
import type { Scope } from '@drover/shared/api/keys';
import type { z } from 'zod';
import type { Caller } from './caller.js';

/** The names between braces of a path. */
type ParamsOf<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsOf<Rest> : never;

/** A request that has passed authentication, scope and schemas. */
export interface Call<P extends string, Q, B> {
  readonly caller: Caller;
  /** Percent-decoded. */
  readonly params: Readonly<Record<ParamsOf<P>, string>>;
  readonly query: Q;
  readonly body: B;
  header(name: string): string | undefined;
}

export interface Answer {
  readonly status: number;
  /** Left out: an empty body. A string is JSON already. */
  readonly body?: unknown;
}

export interface Endpoint<P extends string = string, Q = unknown, B = unknown> {
  readonly method: 'get' | 'post' | 'patch' | 'put' | 'delete';
  /** `/robots/{id}`; fixed paths before those with a name in the same place. */
  readonly path: P;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly scope: Scope;
  readonly query?: z.ZodType<Q>;
  readonly body?: z.ZodType<B>;
  /** Request headers of its own, for the document. */
  readonly headers?: z.ZodObject;
  /** Successes by status; one without schema has no body. */
  readonly answers: Readonly<Record<number, { readonly description: string; readonly schema?: z.ZodType }>>;
  /** Beside those any endpoint may give (400, 401, 403, 503, …). */
  readonly errors: readonly ApiErrorCode[];
  // A method, so that an endpoint with its own types is an Endpoint among others.
  handle(call: Call<P, Q, B>): Promise<Answer>;
}

/** Lets TypeScript infer path, query and body of one endpoint before it joins the others. */
export function endpoint<P extends string, Q = unknown, B = unknown>(spec: Endpoint<P, Q, B>): Endpoint {
  return spec;
}

/** One value, as text: a JSON answer made elsewhere. */
export class JsonText {
  constructor(readonly text: string) {}
}
