// For `node --import`: the wall clock of this process is off by the milliseconds in the file DROVER_TEST_CLOCK_SHIFT, read at the
// start and again at SIGUSR2. The monotonic clock goes on as it does on a robot whose clock is set.
import { readFileSync } from 'node:fs';

const file = process.env.DROVER_TEST_CLOCK_SHIFT;
if (file) {
  const TrueDate = Date;
  let shiftMs = 0;
  const read = () => {
    shiftMs = Number(readFileSync(file, 'utf8'));
  };
  globalThis.Date = class ShiftedDate extends TrueDate {
    constructor(...values) {
      super(...(values.length === 0 ? [TrueDate.now() + shiftMs] : values));
    }
    static now() {
      return TrueDate.now() + shiftMs;
    }
  };
  process.on('SIGUSR2', read);
  read();
}
