import { once } from 'node:events';
import { createServer } from 'node:net';
import { composeLogsAnswer, composePlanAnswer } from '@drover/shared/link/compose-answers';
import { expect, it, onTestFinished } from 'vitest';
import { NO_SUCH_IMAGE, runs, TestCompose } from './compose.fixture.js';
import { BOX, describeDocker, docker } from './docker/box.fixture.js';
import { UnknownServiceError } from './docker/logs.js';

async function plan(test: TestCompose, services: Record<string, unknown>, top: object = {}) {
  return composePlanAnswer.parse(await test.questions.plan({ services, ...top }));
}

/** What the containers of a service wrote, once each has written so many lines: the engine has them a moment later. */
async function logs(test: TestCompose, service: string, lines: number) {
  for (;;) {
    const { containers } = composeLogsAnswer.parse(await test.questions.logs({ service, tail: 1000 }));
    if (containers.every((container) => container.lines.length >= lines)) return containers;
  }
}

async function listen(): Promise<number> {
  const server = createServer().listen(0, '0.0.0.0');
  await once(server, 'listening');
  onTestFinished(async () => void (await new Promise((resolve) => server.close(resolve))));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describeDocker('a plan', () => {
  it.each(['a'.repeat(2000), `x:${'y'.repeat(1500)}`, 'Foo'])(
    'says of what is no name of an image that it is none, as its deployment does: %#',
    async (image) => {
      const test = new TestCompose();
      const told = { code: 'image_pull_failed', message: expect.stringMatching(/^"\w.* is no name of an image/) };
      const { error } = await plan(test, { web: { image } });
      expect(error).toMatchObject(told);
      expect(error?.message.length).toBeLessThan(500);
      const failed = await test.settled(test.assign({ web: { image } }));
      expect(failed).toMatchObject({ error_code: told.code, error_message: told.message });
    },
  );

  it('tells what would change for each service, and changes nothing', async () => {
    const test = new TestCompose();
    const services = { web: runs(), gone: runs(), kept: runs({ labels: { price: '5$$' } }) };
    const first = await plan(test, services);
    expect(first).toMatchObject({
      running: null,
      services: ['gone', 'kept', 'web'].map((service) => ({ service, action: 'create' })),
      images: [{ image: BOX, present: true, pull: false, download_bytes: null }],
      disk: { needed_bytes: 0, fits: true },
      refusals: [],
      error: null,
    });
    expect(test.containers()).toEqual([]);

    expect(await test.settled(test.assign(services))).toMatchObject({ state: 'up' });
    const before = test.containers();
    const next = { web: runs({ environment: { A: '1' } }), kept: services.kept, more: runs() };
    expect(await plan(test, next)).toMatchObject({
      running: { id: 'app', version: 1 },
      services: [
        { service: 'gone', action: 'remove' },
        { service: 'kept', action: 'keep', reason: null },
        { service: 'more', action: 'create' },
        { service: 'web', action: 'recreate', reason: 'configuration changed' },
      ],
      error: null,
    });
    docker('stop', '-t', '0', `${test.project}-kept-1`);
    const scaled = { kept: services.kept, web: runs({ deploy: { replicas: 0 } }), gone: services.gone };
    expect((await plan(test, scaled)).services).toMatchObject([
      { service: 'gone', action: 'keep' },
      { service: 'kept', action: 'start' },
      { service: 'web', action: 'remove' },
    ]);
    expect(test.containers()).toEqual(before);
  });

  it('tells of images that are not here and of a registry that does not answer', async () => {
    const test = new TestCompose();
    const answer = await plan(test, { web: runs({ image: NO_SUCH_IMAGE }), box: runs({ pull_policy: 'never' }) });
    expect(answer).toMatchObject({
      images: [
        { image: NO_SUCH_IMAGE, present: false, pull: true, download_bytes: null },
        { image: BOX, present: true, pull: false },
      ],
      disk: { needed_bytes: null, fits: null },
      error: null,
    });
    expect(answer.images[0]?.message).toContain('did not tell the size');
    const never = await plan(test, { web: runs({ image: NO_SUCH_IMAGE, pull_policy: 'never' }) });
    expect(never.error).toMatchObject({ code: 'image_pull_failed', message: expect.stringContaining('pull_policy') });
  });

  it('tells who has the ports that it wants: another container, another program, or itself', async () => {
    const port = await listen();
    const test = new TestCompose();
    const theirs = `${test.project}-theirs`;
    docker('run', '-d', '--name', theirs, '-p', '127.0.0.1::80', BOX, 'sleep', '1000');
    const free = () => {
      // A failed assertion leaves it there, a passed one does not; `rm -f` of nothing fails in some engines.
      const id = docker('ps', '-aq', '--filter', `name=^/${theirs}$`);
      if (id !== '') docker('rm', '-f', id);
    };
    onTestFinished(free);
    const theirPort = Number(docker('port', theirs, '80/tcp').split(':').at(-1));
    const services = { web: runs({ ports: [`${port}:1`, `127.0.0.1:${theirPort}:2`, '3'] }) };
    const answer = await plan(test, services);
    expect(answer.ports).toEqual([
      { service: 'web', host_ip: '0.0.0.0', port, protocol: 'tcp', free: false, taken_by: null },
      { service: 'web', host_ip: '127.0.0.1', port: theirPort, protocol: 'tcp', free: false, taken_by: theirs },
    ]);
    expect(answer.error).toMatchObject({ code: 'start_failed', message: expect.stringContaining(`${port}`) });
    free();
    const freed = { web: runs({ ports: [`127.0.0.1:${theirPort}:2`] }) };
    expect(await test.settled(test.assign(freed))).toMatchObject({ state: 'up' });
    expect(await plan(test, freed)).toMatchObject({ ports: [{ free: true }], error: null });
  });

  it('tells what the policy refuses beside what would change, and asks no registry then', async () => {
    const test = new TestCompose();
    const answer = await plan(test, { web: runs({ image: NO_SUCH_IMAGE, privileged: true, volumes: ['/:/host'] }) });
    expect(answer).toMatchObject({
      services: [{ service: 'web', action: 'create' }],
      images: [{ message: null }],
      refusals: [
        { rule: 'policy.compose.privileged', path: 'services.web.privileged' },
        { rule: 'agent_files', path: 'services.web.volumes[0]' },
      ],
      error: null,
    });
  });

  it('tells why a document can not be brought up at all', async () => {
    const test = new TestCompose();
    const invalid = await plan(test, { web: runs({ env_file: '.env' }) });
    expect(invalid).toMatchObject({ services: [], error: { code: 'invalid_compose_file' } });
    expect(invalid.error?.message).toContain('services.web.env_file');
  });
});

describeDocker('the logs of a service', () => {
  const SCRIPT = 'for i in $$(seq 1 50); do echo "line $$i"; done; echo wrong >&2; sleep 1000000';

  it('are the last lines of each of its containers, the two outputs told apart', async () => {
    const test = new TestCompose();
    const services = { web: runs({ command: ['sh', '-c', SCRIPT], deploy: { replicas: 2 } }), quiet: runs() };
    expect(await test.settled(test.assign(services))).toMatchObject({ state: 'up' });
    const whole = await logs(test, 'web', 51);
    expect(whole.map(({ container }) => container)).toEqual([`${test.project}-web-1`, `${test.project}-web-2`]);
    for (const { lines } of whole) {
      expect(lines.filter(({ stream }) => stream === 'stderr')).toMatchObject([{ text: 'wrong' }]);
      const out = lines.filter(({ stream }) => stream === 'stdout');
      expect(out.map(({ text }) => text)).toEqual(Array.from({ length: 50 }, (_, index) => `line ${index + 1}`));
      expect(out[0]?.stamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    }
    const { containers } = await test.questions.logs({ service: 'web', tail: 11 });
    // The engine reads the two outputs side by side: which line came last, only the whole tells.
    expect(containers).toEqual(whole.map(({ container, lines }) => ({ container, lines: lines.slice(-11) })));
    expect((await test.questions.logs({ service: 'quiet', tail: 5 })).containers).toMatchObject([{ lines: [] }]);
    const unknown = await test.questions.logs({ service: 'wbe', tail: 1 }).catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(UnknownServiceError);
    expect(String(unknown)).toContain('quiet, web');
  });

  it('are of a terminal as well, and of one that wrote more than an answer holds the newest', async () => {
    const test = new TestCompose();
    // Lines longer than the engine keeps in one piece, and than are shown.
    const flood =
      'yes 0123456789 | head -c 40000 | tr -d "\\n" > /x; for i in $$(seq 1 400); do cat /x; echo " $$i"; done; sleep 1000000';
    const services = {
      tty: runs({ tty: true, command: ['sh', '-c', 'echo one; echo two; sleep 1000000'] }),
      flood: runs({ command: ['sh', '-c', flood], healthcheck: { test: 'test -f /x', interval: '1s' } }),
    };
    expect(await test.settled(test.assign(services))).toMatchObject({ state: 'up' });
    expect(await logs(test, 'tty', 2)).toMatchObject([{ lines: [{ stream: 'stdout', text: 'one' }, { text: 'two' }] }]);
    const containers = await logs(test, 'flood', 101);
    const lines = containers[0]?.lines ?? [];
    expect(JSON.stringify({ containers }).length).toBeLessThan(4 * 1024 * 1024);
    expect(new Set(lines.slice(0, -1).map(({ text }) => text.length))).toEqual(new Set([16 * 1024]));
  });
});
