export interface IdempotencyTables {
  idempotency_keys: {
    tenant_key: number;
    route: string;
    robot_key: number;
    idempotency_key: string;
    /** SHA-256 of the body as canonical JSON, hex. */
    body_hash: string;
    /** The first answer, JSON. */
    response: string;
    created_at_ms: number;
  };
}
