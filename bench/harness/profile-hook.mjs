// Imported first by every Node process of a run with `--profile`: its CPU profile goes to BENCH_PROFILE_DIR when it exits.
// (--cpu-prof would do, but may not stand in NODE_OPTIONS.)
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.start');
process.once('exit', () => {
  // Answered before post returns.
  session.post('Profiler.stop', (error, stopped) => {
    if (error) return;
    writeFileSync(join(process.env.BENCH_PROFILE_DIR, `${process.pid}.cpuprofile`), JSON.stringify(stopped.profile));
  });
});
