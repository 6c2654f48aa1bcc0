import type { Judge, Verdict } from './compose-judge.js';
import type { ComposeRules } from './compose-rules.js';
import { imageName, mayBeImageId } from './image-pattern.js';

const RULE = 'policy.compose.images';

/** Judges the name of an image that a service runs or mounts. */
export function checkImage(judge: Judge, value: unknown, path: string): void {
  judge.apply(path, verdictOn(judge.rules.images, judge.text(value, path)));
}

function verdictOn({ allow, deny }: ComposeRules['images'], text: string): Verdict {
  if (allow === null && deny.length === 0) return null;
  if (text === '') return { rule: RULE, message: 'there is no image to judge: name one' };
  if (mayBeImageId(text)) return { rule: RULE, message: `${text} may be an id, which no rule can judge: add its tag` };
  const image = imageName(text);
  const denied = deny.find(({ pattern }) => pattern.matches(image));
  if (denied) return { rule: denied.name, message: `${text} is denied (${denied.pattern.text})` };
  if (allow === null || allow.some(({ pattern }) => pattern.matches(image))) return null;
  return { rule: `${RULE}.allow`, message: `no rule allows ${text}` };
}
