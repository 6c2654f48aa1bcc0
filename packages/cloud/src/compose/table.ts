import type { RobotComposeErrorCode, RobotComposeState } from '@drover/shared/api/compose';
import type { Generated } from 'kysely';

export interface ComposeTables {
  compose_files: {
    key: Generated<number>;
    tenant_key: number;
    id: string;
    /** The newest version. */
    version: number;
    created_at_ms: number;
  };
  compose_versions: {
    compose_file_key: number;
    version: number;
    name: string;
    /** The document, JSON. */
    content: string;
    created_at_ms: number;
  };
  robot_compose: {
    robot_key: number;
    compose_file_key: number;
    version: number;
    state: RobotComposeState;
    error_code: RobotComposeErrorCode | null;
    created_at_ms: number;
  };
}
