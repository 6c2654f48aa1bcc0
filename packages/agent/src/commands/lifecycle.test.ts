import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CommandEvent, type CommandState, nextState } from './lifecycle.js';

const interfaces = fc.constantFrom('topic' as const, 'service' as const, 'action_send_goal' as const);
const events = fc.array(fc.constantFrom<CommandEvent>('start', 'cancel', 'late', 'end'), { maxLength: 12 });

it('ends every command exactly once, whatever happens to it', () => {
  fc.assert(
    fc.property(interfaces, events, (kind, history) => {
      let state: CommandState = 'waiting';
      let ends = 0;
      let starts = 0;
      for (const event of [...history, 'end' as const]) {
        const next = nextState(state, event, kind);
        if (next === 'done') ends += 1;
        if (event === 'start' && next !== null) starts += 1;
        state = next ?? state;
      }
      expect([state, ends]).toEqual(['done', 1]);
      expect(starts).toBeLessThanOrEqual(1);
    }),
  );
});

it('stops only goals once they run', () => {
  expect(nextState('running', 'cancel', 'action_send_goal')).toBe('stopping');
  expect(nextState('running', 'cancel', 'topic')).toBeNull();
  expect(nextState('running', 'cancel', 'service')).toBeNull();
  expect(nextState('waiting', 'cancel', 'topic')).toBe('done');
});
