import { describe, expect, it } from 'vitest';
import { misspeltSettings } from './misspelt.js';

const KNOWN = ['DROVER_URL', 'DROVER_TOKEN', 'DROVER_TOKEN_FILE', 'DROVER_SPOOL_MAX_MB', 'DROVER_PORT', 'DROVER_HOST'];

describe('a variable that is no setting', () => {
  it.each([
    ['DROVER_TOKN', 'DROVER_TOKEN'],
    ['DROVER_TOKENFILE', 'DROVER_TOKEN_FILE'],
    ['DROVER_SPOOL_MAX_GB', 'DROVER_SPOOL_MAX_MB'],
    ['DROVER_PROT', null],
    ['DROVER_POR', 'DROVER_PORT'],
    ['drover_url', 'DROVER_URL'],
  ])('%s is told with the setting that was meant: %s', (variable, meant) => {
    expect(misspeltSettings({ [variable]: 'a-secret' }, KNOWN)).toEqual(
      meant === null ? [] : [`${variable} is no setting and is ignored; did you mean ${meant}?`],
    );
  });

  it('is of no interest where it is like none, or of another program', () => {
    const env = Object.fromEntries(
      [...KNOWN, 'DROVER_CLOUD_SERVICE_HOST', 'DROVER_API', 'ROVER_URL', 'PATH'].map((n) => [n, '1']),
    );
    expect(misspeltSettings(env, KNOWN)).toEqual([]);
  });
});
