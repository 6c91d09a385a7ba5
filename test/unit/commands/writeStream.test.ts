/** The one way into the log: what was read is what the append insists on, and others who write are no loss. */
import { patience, TryAgainError, ValidationError } from '#app/commands/context.js';
import { RequestDeadline } from '#app/commands/requestDeadline.js';
import { type DomainEvent, loadStream, MAX_ATTEMPTS, NO_STREAM, writeStream } from '#app/commands/writeStream.js';
import { MAX_ERRORS } from '#app/domain/limits.js';
import { DeadlineError } from '#app/supervision/deadline.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const STREAM = 'order-acme.1';
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const EVENT: DomainEvent = { type: 'OrderChanged', data: {} };

function open() {
  const log = new LogInMemory();
  const commands = log.commands();
  /** Of another process. */
  const others = log.commands();
  const load = () => loadStream<number>(commands.eventStore, STREAM, (count = 0) => count + 1);
  const write = (
    count = 1,
    as: Parameters<typeof writeStream>[1] = caller,
    decided: () => void = () => undefined,
    by = commands,
  ) =>
    writeStream(by, as, {
      stream: STREAM,
      name: 'The order',
      load,
      decide: () => {
        decided();
        return Array<DomainEvent>(count).fill(EVENT);
      },
    });
  return { log, commands, others, write };
}

test('what is appended stands behind all that was read, however many events and pages that was', async () => {
  const { log, write } = open();
  for (const count of [3, 98, 250]) await write(count);
  expect(await write()).toMatchObject({ state: 351, revision: 351 });
  expect(log.stream(STREAM)).toHaveLength(352);
});

test('nothing is appended where nothing is to change', async () => {
  const { log, write } = open();
  await write(2);
  expect(await write(0)).toMatchObject({ state: 2, revision: 1, position: 0, events: [] });
  expect(log.stream(STREAM)).toHaveLength(2);
});

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
      name: 'The order',
      load: () => loadStream<number>(commands.eventStore, STREAM, (count = 0) => count + 1),
      decide: () => [EVENT],
    });
  const written = write(1, caller, () => {
    decisions += 1;
    log.beforeAppend(STREAM, other);
  });
  await expect(written).rejects.toThrow(new TryAgainError('The order is being written by many at once.'));
  expect(decisions).toBe(MAX_ATTEMPTS);
});

test('changes of a stream in one process are made one after the other: none is decided again', async () => {
  const { log, write } = open();
  let decisions = 0;
  const count = () => {
    decisions += 1;
  };
  await Promise.all(Array.from({ length: 300 }, () => write(1, caller, count)));
  expect(decisions).toBe(300);
  expect(log.stream(STREAM)).toHaveLength(300);
});

test('times never go backwards within a stream, also where the clock does', async () => {
  const { log, commands } = open();
  const at = (now: string) =>
    writeStream({ ...commands, now: () => now }, caller, {
      stream: STREAM,
      name: 'The order',
      load: () => loadStream<number>(commands.eventStore, STREAM, (count = 0) => count + 1),
      decide: () => [EVENT],
    });
  const [early, late, later] = [1, 2, 3].map((second) => `2026-11-22T10:00:0${second}.000000Z`);
  for (const now of [late, early, later]) await at(now ?? '');
  expect(log.stream(STREAM).map(({ metadata: { occurredAt } }) => occurredAt)).toEqual([late, late, later]);
});

test('an event has the trace of its request, where there is one', async () => {
  const { log, write } = open();
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  await write(1, { ...caller, traceparent });
  await write(1, caller);
  const [traced, other] = log.stream(STREAM).map((event) => event.metadata);
  expect(traced).toMatchObject({ ...caller, traceparent });
  expect(other).not.toHaveProperty('traceparent');
});

test('an event that this release does not know is never written', async () => {
  const { log, commands } = open();
  const written = writeStream(commands, caller, {
    stream: STREAM,
    name: 'The order',
    load: async () => ({ state: undefined, ...NO_STREAM }),
    decide: () => [{ type: 'OrderSold', data: {} }],
  });
  await expect(written).rejects.toThrow('OrderSold is missing in domain/eventTypes.ts.');
  expect(log.stream(STREAM)).toEqual([]);
});

test.each(['load', 'decide'] as const)('a request whose time is over waits for no %s', async (slow) => {
  const { log, commands } = open();
  const deadline = new RequestDeadline(60_000, () => new DeadlineError('It took too long.'));
  const forever = new Promise<never>(() => undefined);
  const written = writeStream(
    commands,
    { ...caller, deadline },
    {
      stream: STREAM,
      name: 'The order',
      load: async () => (slow === 'load' ? forever : { state: undefined, ...NO_STREAM }),
      decide: () => forever,
    },
  );
  deadline.cancel(new DeadlineError('It took too long.'));
  await expect(written).rejects.toThrow(DeadlineError);
  expect(log.stream(STREAM)).toEqual([]);
});

test('nothing is waited for longer than its own limit, or than the request has', () => {
  const deadline = new RequestDeadline(60_000, () => new DeadlineError('It took too long.'));
  expect(patience(caller, 30_000)).toBe(30_000);
  expect(patience({ ...caller, deadline }, 30_000)).toBe(30_000);
  deadline.cancel(new DeadlineError('It took too long.'));
  expect(patience({ ...caller, deadline }, 30_000)).toBe(0);
});

describe('what is wrong with a body, in one sentence', () => {
  const errors = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`field${n}`, [`The field${n} field is required.`]]));
  test.each([
    [{}, 0, 'The given data was invalid.'],
    [errors(1), 0, 'The field0 field is required.'],
    [errors(MAX_ERRORS), 0, 'The field0 field is required.'],
    [errors(MAX_ERRORS + 2), 0, 'The field0 field is required. (At least 2 more errors are not listed here.)'],
    [errors(MAX_ERRORS + 2), 3, 'The field0 field is required. (At least 5 more errors are not listed here.)'],
  ])('%#', (of, unnamed, message) => {
    const error = new ValidationError(of, unnamed);
    expect(error.message).toBe(message);
    expect(Object.keys(error.errors).length).toBeLessThanOrEqual(MAX_ERRORS);
  });
});
