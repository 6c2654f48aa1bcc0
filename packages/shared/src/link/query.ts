import { z } from 'zod';
import { commandInterface } from './command.js';
import { json, jsonObject, uuid } from './fields.js';

/** What the cloud may ask of a robot. Questions change nothing there and are not kept: one unanswered is asked again. */
export const question = z.discriminatedUnion('about', [
  /** The ROS graph as the robot sees it now. */
  z.object({ about: z.literal('graph') }),
  /** The definition of a type, `pkg/msg|srv|action/Name`. */
  z.object({ about: z.literal('interface'), type: z.string() }),
  /** Whether a command would run, without running it. */
  z.object({
    about: z.literal('check'),
    interface: commandInterface,
    name: z.string(),
    type: z.string(),
    payload: jsonObject,
    latched: z.boolean(),
  }),
  /** Since version 5: what assigning this document would do. */
  z.object({
    about: z.literal('compose_plan'),
    id: z.string(),
    version: z.int().positive(),
    content: jsonObject,
  }),
  /** Since version 5: the last lines that a service of the project wrote. */
  z.object({ about: z.literal('compose_logs'), service: z.string(), tail: z.int().positive() }),
]);
export type Question = z.infer<typeof question>;

/** Down: a question. Only agents of link version 2 and later understand it. */
export const query = z.object({ kind: z.literal('query'), id: uuid, question });
export type Query = z.infer<typeof query>;

/** Up: its answer, of the form that answers.ts gives for the question; `error` where there is none. */
export const answer = z.object({
  kind: z.literal('answer'),
  id: uuid,
  result: json,
  error: z.object({ code: z.string().max(64), message: z.string().max(4096) }).nullable(),
});
export type Answer = z.infer<typeof answer>;
