import { expect, it } from 'vitest';
import { runCheck } from './check.js';
import { judgeFreeSpace } from './disk.js';
import { explainNetworkFailure } from './network-failure.js';
import { reportLines } from './report.js';

it('ends a check that does not end by itself, and tells it so', async () => {
  let aborted = false;
  const results = await runCheck({
    name: 'slow',
    timeoutMs: 1,
    severity: 'warn',
    run: (signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
      }),
  });
  expect(results).toEqual([{ name: 'slow', status: 'warn', message: 'no answer within 0.001 s' }]);
  expect(aborted).toBe(true);
});

it('makes a finding of what a check throws', async () => {
  const run = async () => {
    throw new TypeError('a defect');
  };
  const results = await runCheck({ name: 'broken', timeoutMs: 1_000, severity: 'fail', run });
  expect(results).toEqual([{ name: 'broken', status: 'fail', message: 'could not be checked: a defect' }]);
});

it('warns below 2 GB of free space and fails below 100 MB', () => {
  const statusAt = (bytes: number) => judgeFreeSpace(bytes, '/data').map((finding) => finding.status);
  expect(statusAt(2e9)).toEqual([]);
  expect(statusAt(2e9 - 1)).toEqual(['warn']);
  expect(statusAt(100e6)).toEqual(['warn']);
  expect(statusAt(100e6 - 1)).toEqual(['fail']);
});

it.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'not signed by an authority', 'NODE_EXTRA_CA_CERTS'],
  ['CERT_NOT_YET_VALID', 'clock (2001-09-09T01:46:40.000Z)', 'timedatectl'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'for another name', 'DROVER_URL'],
  ['EAI_AGAIN', 'no name server answers', 'DNS'],
  ['EHOSTUNREACH', 'no route to drover.example', 'ip route'],
  ['ABORT_ERR', 'no answer from drover.example within 4 s', 'firewalls'],
])('explains %s in plain words', (code, words, remedy) => {
  const error = Object.assign(new Error('raw'), { code });
  const finding = explainNetworkFailure(error, new URL('https://drover.example/healthz'), 1e12);
  expect(finding).toMatchObject({ status: 'fail', message: expect.stringContaining(words) });
  expect(finding.remedy).toContain(remedy);
});

it("takes the first address's reason where a name has several", () => {
  const refused = Object.assign(new Error('raw'), { code: 'ECONNREFUSED' });
  const error = new AggregateError([refused, new Error('other')]);
  expect(explainNetworkFailure(error, new URL('http://localhost:8080'), 0).message).toContain('nothing listens');
});

it('prints words of others without what steers a terminal', () => {
  const message = 'red: \u001b[31mred\u001b[0m\r\nnext\u0007\u009b2J';
  const lines = reportLines([{ name: 'x', status: 'ok', message, remedy: 'one\ntwo' }], false);
  expect(lines).toEqual([
    'ok    x           red: red next',
    '                  -> one',
    '                  -> two',
    '1 ok, 0 warnings, 0 failed',
  ]);
});
