import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventPosition, EventSize, EventStore } from '#app/ports/eventStore.js';
import { LogUsage } from '#app/service/logUsage.js';

let DATA_DIR: string;
beforeEach(async () => {
  DATA_DIR = await mkdtemp(join(tmpdir(), 'usage-'));
});
afterEach(() => rm(DATA_DIR, { recursive: true }));

const sized = (position: number): EventSize => ({
  stream: 'table-acme.dyn_item',
  position,
  type: 'RecordChanged',
  bytes: 100,
  occurredAt: new Date().toISOString(),
});

/** A log with this id and number of events. It tells from where sizes were asked for. */
function logWith(id: string, events: number) {
  const asked: number[] = [];
  const log: Pick<EventStore, 'identity' | 'holds' | 'sizes'> = {
    identity: async () => id,
    holds: async ({ position }: EventPosition) => position <= events,
    async *sizes({ after, signal }) {
      asked.push(after);
      const sizes = Array.from({ length: events - after }, (_, index) => sized(after + index + 1));
      yield { sizes, position: events, eventId: `event-${events}`, caughtUp: true };
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  };
  return { log, asked };
}

/** Counts a log, and stores the tally at its end. @returns bytes, and from where it counted */
async function counted(id: string, events: number) {
  const { log, asked } = logWith(id, events);
  const usage = await LogUsage.start(log, { DATA_DIR }, (error) => {
    throw error;
  });
  while (usage.tally.position < events) await new Promise((resolve) => setImmediate(resolve));
  await usage.stop();
  return { bytes: usage.tally.of('acme').bytes, asked };
}

test('a log that was put back, or is another one, is counted from its start', async () => {
  await counted('log-1', 10);
  expect(await counted('log-1', 7)).toEqual({ bytes: 700, asked: [0] });
  expect(await counted('log-2', 8)).toEqual({ bytes: 800, asked: [0] });
});

test.each(['', '{"version":2}', 'no JSON'])('a file that is damaged (%s) is no obstacle', async (text) => {
  await writeFile(join(DATA_DIR, 'usage.json'), text);
  expect(await counted('log-1', 10)).toEqual({ bytes: 1_000, asked: [0] });
});
