import { z } from 'zod';
import { logLevel } from '../link/desired.js';
import { booleanParameter, pageParameters, timestamp, timestampParameter } from './fields.js';

/** A data point as a log record. A point that is none: `msg` is the message as JSON text, `name` its publisher. */
export const logRecord = z
  .strictObject({
    uuid: z.uuid(),
    stamp: timestamp,
    level: logLevel,
    name: z.string(),
    file: z.string(),
    function: z.string(),
    line: z.int(),
    msg: z.string(),
  })
  .meta({ id: 'LogRecord' });
export type LogRecord = z.infer<typeof logRecord>;

/** A data point whole. */
export const dataPoint = z
  .strictObject({
    uuid: z.uuid(),
    stamp: timestamp,
    source: z.string(),
    type: z.string(),
    payload: z
      .unknown()
      .meta({ description: 'the message; {"$undecodable": why} where its bytes could not be decoded' }),
  })
  .meta({ id: 'DataPoint' });
export type DataPoint = z.infer<typeof dataPoint>;

export const listPointsQuery = z.object({
  ...pageParameters,
  latest_only: booleanParameter.meta({ description: 'only the latest data point' }),
  source: z.string().optional().meta({ description: 'source name of the stream; all sources where left out' }),
  from: timestampParameter.optional().meta({ description: 'only points after it' }),
  to: timestampParameter.optional().meta({ description: 'only points before it' }),
  before: z
    .uuid('must be the uuid of a data point')
    .optional()
    .meta({
      description:
        'only points listed after the one with this uuid: the last of a page gives the next page, without the repeats that ' +
        '`offset` brings while data arrives',
    }),
});
export type ListPointsQuery = z.infer<typeof listPointsQuery>;
