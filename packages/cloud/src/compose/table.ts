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
    /** A UUID; a new one with each assignment and each removal. */
    assignment: string;
    override_lock: number;
    /** Null: it should run. Else it should not, and 1 = its volumes go too. */
    removal_volumes: number | null;
  };
  compose_status: {
    robot_key: number;
    /** What the robot speaks of; it counts for the state where it is robot_compose's own. */
    assignment: string;
    running_id: string | null;
    running_version: number | null;
    /** ToldOfCompose, JSON. */
    told: string;
    reported_at_ms: number;
  };
}
