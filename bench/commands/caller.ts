/** The load in a process of its own, so that whoever reads the logs of the product does not hold it up. */
import { serve } from '../harness/serve.js';
import { CommandLoad } from './load.js';

let load: CommandLoad | undefined;

function opened(): CommandLoad {
  if (!load) throw new Error('it is not open');
  return load;
}

serve(
  {
    open: ({ url, robot, headers }: { url: string; robot: string; headers: Record<string, string> }) => {
      load = new CommandLoad(url, robot, headers);
    },
    alone: ({ ms }: { ms: number }) => opened().alone(ms),
    together: ({ inFlight, ms, topics }: { inFlight: number; ms: number; topics: string[] }) =>
      opened().together(inFlight, ms, topics),
  },
  () => load?.close(),
);
