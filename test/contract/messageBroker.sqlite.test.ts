import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openSqliteBroker } from '#app/adapters/broker/sqlite/broker.js';
import { scaled } from '../engines/timeScale.js';
import { describeMessageBroker } from './messageBroker.js';
import { RecordingConsumer } from './recordingConsumer.js';

const directory = mkdtempSync(join(tmpdir(), 'broker-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describeMessageBroker('sqlite', () => openSqliteBroker({ file: join(directory, 'broker.db') }));

describe('what only the sqlite broker promises', () => {
  const file = join(directory, 'promises.db');

  test('an id that waits or is in flight is not published again', async () => {
    const broker = await openSqliteBroker({ file });
    const stop = new AbortController();
    await broker.publish('ids', [
      { id: 'a', body: 'first' },
      { id: 'a', body: 'second' },
    ]);
    await broker.publish('ids', [{ id: 'a', body: 'third' }]);
    const consumer = new RecordingConsumer(
      broker,
      'ids',
      async ({ id }) => {
        const fourth = { id: 'a', body: 'fourth' };
        if (id === 'a') await broker.publish('ids', [fourth, { id: 'b', body: 'other' }]);
        return { kind: 'done' };
      },
      1,
      stop,
    );
    await consumer.arrived(2);
    await consumer.stop();
    expect(consumer.received.map(({ body }) => body)).toEqual(['first', 'other']);
    expect(await broker.depth('ids')).toEqual({ ready: 0, delayed: 0, inFlight: 0 });
    await broker.close();
  });

  test('a wait of hours, since the clock was put back, is over at the next start', async () => {
    const clock = jest.spyOn(Date, 'now');
    clock.mockImplementation(() => Math.round(performance.timeOrigin + performance.now()) + 7_200_000);
    const ahead = await openSqliteBroker({ file });
    await ahead.publish('later', [{ id: 'later', body: 'first' }]);
    const tried = new RecordingConsumer(
      ahead,
      'later',
      () => ({ kind: 'retry', delayMs: 100 }),
      1,
      new AbortController(),
    );
    await tried.arrived(1);
    await tried.stop();
    await ahead.close();
    clock.mockRestore();
    const broker = await openSqliteBroker({ file });
    const again = new RecordingConsumer(broker, 'later', () => ({ kind: 'done' }), 1, new AbortController());
    await again.arrived(1);
    await again.stop();
    await broker.close();
  });
});

describe('sqlite broker and processes that die', () => {
  const file = join(directory, 'leases.db');
  const leaseMs = scaled(300);

  /** Another process that takes messages of the queue and never gives an outcome; resolves when it has one. */
  async function processThatHolds(queue: string, options: { file: string; leaseMs: number }): Promise<ChildProcess> {
    const script = `
      import { openSqliteBroker } from ${JSON.stringify(resolve('dist/adapters/broker/sqlite/broker.js'))};
      const broker = await openSqliteBroker(${JSON.stringify(options)});
      await broker.consume(${JSON.stringify(queue)}, { concurrency: 1, signal: new AbortController().signal }, (message) => {
        process.stdout.write(message.id);
        return new Promise(() => undefined);
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  }

  test('a living process keeps its message beyond the lease; a killed one loses it when the lease ends', async () => {
    const broker = await openSqliteBroker({ file, leaseMs });
    await broker.publish('held', [{ id: 'a', body: 1 }]);
    const child = await processThatHolds('held', { file, leaseMs });

    const stop = new AbortController();
    const redeliveries: number[] = [];
    const consumed = broker.consume('held', { concurrency: 1, signal: stop.signal }, async (message) => {
      redeliveries.push(message.redeliveries);
      stop.abort();
      return { kind: 'done' };
    });
    await new Promise((wait) => setTimeout(wait, 3 * leaseMs));
    expect(redeliveries).toEqual([]);

    child.kill('SIGKILL');
    await once(child, 'exit');
    await consumed;
    expect(redeliveries).toEqual([1]);
    expect(await broker.depth('held')).toMatchObject({ ready: 0, inFlight: 0 });
    await broker.close();
  });

  test('close ends the consumers first and stores the outcomes of what is in flight', async () => {
    const broker = await openSqliteBroker({ file });
    await broker.publish('closing', [{ id: 'a', body: 1 }]);
    let taken: () => void = () => undefined;
    const inFlight = new Promise<void>((started) => {
      taken = started;
    });
    const consumed = broker.consume('closing', { concurrency: 1, signal: new AbortController().signal }, async () => {
      taken();
      await new Promise((wait) => setTimeout(wait, 20));
      return { kind: 'done' };
    });
    await inFlight;
    await broker.close();
    await consumed;
    const again = await openSqliteBroker({ file });
    expect(await again.depth('closing')).toMatchObject({ ready: 0, inFlight: 0 });
    await again.close();
  });
});
