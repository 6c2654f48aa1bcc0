/** Which state of an inbox's file the cloud was last told of, so that an old copy is known for one. */
export const inboxLineage = `
ALTER TABLE inboxes ADD COLUMN tenure TEXT;
ALTER TABLE inboxes ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
`;
