import type { Judge } from './compose-judge.js';

const RULE = 'policy.compose.ports';

/** Judges the ports of the robot that a service publishes. One on the host's network needs none of them to listen. */
export function checkPorts(judge: Judge, service: Readonly<Record<string, unknown>>, path: string): void {
  const { allow, deny } = judge.rules.ports;
  if (allow === null && deny.length === 0) return;
  for (const [index, value] of judge.list(service.ports, `${path}.ports`).entries()) {
    const at = `${path}.ports[${index}]`;
    const published = judge.mapping(value, at).published;
    // The engine takes a free one.
    if (published === undefined || published === null || published === '' || published === '0') continue;
    const range = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(String(published));
    if (!range) {
      judge.refuse(RULE, at, 'is no port or range of ports');
      continue;
    }
    const first = Number(range[1]);
    const last = Number(range[2] ?? range[1]);
    const denied = deny.find(({ pattern }) => first <= pattern.last && last >= pattern.first);
    const isAllowed = allow === null || allow.some(({ pattern }) => first >= pattern.first && last <= pattern.last);
    if (denied) judge.refuse(denied.name, at, `the port ${published} is denied (${denied.pattern.text})`);
    else if (!isAllowed) judge.refuse(`${RULE}.allow`, at, `no rule allows the port ${published}`);
  }
}
