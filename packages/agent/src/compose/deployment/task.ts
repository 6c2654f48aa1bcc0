import type { Desired } from '@drover/shared/link/desired';
import { v5 as uuidv5 } from 'uuid';
import type { Deployment, DownTask, UpTask } from './state-file.js';

type Task = UpTask | DownTask;

/** Names what clouds before version 5 give no name to. */
const NAMESPACE = 'ab7f6c52-4f0c-4d2b-9a55-6f5c1a3e8f10';

/** What the desired state asks for beside the task that there is; `same`: nothing else. */
export function taskOf(
  { compose, compose_removal: removal = null }: Pick<Desired, 'compose' | 'compose_removal'>,
  { task, removals }: Pick<Deployment, 'task' | 'removals'>,
): Task | 'same' {
  if (compose) {
    const { id, version, content } = compose;
    const assignment = compose.assignment ?? uuidv5(`${id}@${version}`, NAMESPACE);
    if (task?.kind === 'up' && task.assignment === assignment) return 'same';
    const override_lock = compose.override_lock ?? false;
    return { kind: 'up', assignment, version: { id, version, content }, override_lock, stage: 'deploy', problem: null };
  }
  if (removal === null && (task === null || task.kind === 'down')) return 'same';
  if (task?.kind === 'down' && task.assignment === removal?.assignment) return 'same';
  // A robot that was made anew, for instance: nothing is assigned to it, and nobody has removed anything.
  const assignment = removal?.assignment ?? uuidv5(task?.assignment ?? '', NAMESPACE);
  // One that was carried out before comes again from a cloud that was set back to a backup: it did not mean the volumes of
  // what came after.
  const volumes = (removal?.volumes ?? false) && !removals.includes(assignment);
  const override_lock = removal?.override_lock ?? false;
  return { kind: 'down', assignment, volumes, override_lock, stage: 'deploy', problem: null };
}
