/** Two machines that share only the event log, with read models and a broker each. */
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { twoMachines } from './twoMachines.js';

/** How late the other machine hears of new events, as on a busy server. */
const LATE_MS = 60;

twoMachines(
  async () => {
    const double = await EventStoreDouble.start();
    const late = new EventStoreDouble(double.log);
    late.feedDelayMs = LATE_MS;
    await late.start();
    return {
      env: [{ EVENTSTORE_URL: double.url }, { EVENTSTORE_URL: late.url }],
      size: () => double.log.records.length,
      async dispose() {
        await Promise.all([double.dispose(), late.dispose()]);
      },
    };
  },
  { atOnce: true },
);
