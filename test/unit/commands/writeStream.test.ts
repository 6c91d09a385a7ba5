/** The one way into the log: what was read is what the append insists on, and others who write are no loss. */
import { TryLaterError } from '#app/commands/context.js';
import { type DomainEvent, loadStream, MAX_ATTEMPTS, NO_STREAM, writeStream } from '#app/commands/writeStream.js';
import { caller } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const STREAM = 'order-acme.1';
const EVENT: DomainEvent = { type: 'OrderChanged', data: {} };

function open() {
  const log = new LogInMemory();
  const commands = log.commands();
  /** Of another process. */
  const others = log.commands();
  const load = () => loadStream(commands.eventStore, STREAM, (count: number) => count + 1, 0);
  const write = (
    count = 1,
    as: Parameters<typeof writeStream>[1] = caller,
    decided: () => void = () => undefined,
    by = commands,
  ) =>
    writeStream(by, as, {
      stream: STREAM,
      load,
      decide: () => {
        decided();
        return Array<DomainEvent>(count).fill(EVENT);
      },
    });
  return { log, commands, others, write };
}

test('where another was first it is decided again, on what that one wrote', async () => {
  const { log, others, write } = open();
  await write();
  log.beforeAppend(STREAM, () => write(1, caller, undefined, others));
  expect(await write()).toMatchObject({ state: 2, revision: 2 });
});

test('where others are first each time it is tried so often, then refused as safe to try again', async () => {
  const { log, commands, others, write } = open();
  let decisions = 0;
  const other = () =>
    writeStream(others, caller, {
      stream: STREAM,
      load: () => loadStream(commands.eventStore, STREAM, (count: number) => count + 1, 0),
      decide: () => [EVENT],
    });
  const written = write(1, caller, () => {
    decisions += 1;
    log.beforeAppend(STREAM, other);
  });
  await expect(written).rejects.toThrow(new TryLaterError('It is being written by many at once.'));
  expect(decisions).toBe(MAX_ATTEMPTS);
});

test('times never go backwards within a stream, also where the clock does', async () => {
  const { log, commands } = open();
  const at = (now: string) =>
    writeStream({ ...commands, now: () => now }, caller, {
      stream: STREAM,
      load: () => loadStream(commands.eventStore, STREAM, (count: number) => count + 1, 0),
      decide: () => [EVENT],
    });
  const [early, late, later] = [1, 2, 3].map((second) => `2026-11-22T10:00:0${second}.000000Z`);
  for (const now of [late, early, later]) await at(now ?? '');
  expect(log.stream(STREAM).map(({ metadata: { occurredAt } }) => occurredAt)).toEqual([late, late, later]);
});

test('an event that this release does not know is never written', async () => {
  const { log, commands } = open();
  const written = writeStream(commands, caller, {
    stream: STREAM,
    load: async () => ({ state: undefined, ...NO_STREAM }),
    decide: () => [{ type: 'OrderSold', data: {} }],
  });
  await expect(written).rejects.toThrow('OrderSold is missing in domain/eventTypes.ts.');
  expect(log.stream(STREAM)).toEqual([]);
});
