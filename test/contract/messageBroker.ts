/** What every adapter of the message broker port must do. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Message, MessageBroker, Outcome, ReceivedMessage } from '#app/ports/messageBroker.js';
import { scaled } from '../engines/timeScale.js';
import { soon, untilDepth } from './queueDepth.js';
import { gate, type Handler, RecordingConsumer } from './recordingConsumer.js';

/** `open` opens the same broker each time, as another process would; the suite closes what it opened. */
export function describeMessageBroker(name: string, open: () => Promise<MessageBroker>): void {
  describe(`message broker: ${name}`, () => {
    let brokers: MessageBroker[] = [];
    let stops: AbortController[] = [];
    let queue: string;

    const another = async (): Promise<MessageBroker> => {
      const broker = await open();
      brokers.push(broker);
      return broker;
    };

    const consume = (broker: MessageBroker, handle: Handler, concurrency = 10): RecordingConsumer => {
      const abort = new AbortController();
      stops.push(abort);
      return new RecordingConsumer(broker, queue, handle, concurrency, abort);
    };

    const done = (): Outcome => ({ kind: 'done' });
    const message = (id: string, body: unknown = { id }): Message => ({ id, body });
    const messages = (count: number): Message[] => Array.from({ length: count }, (_, i) => message(`m${i}`));
    const ids = (received: readonly Message[]): string[] => received.map(({ id }) => id).sort();
    const nothing = { ready: 0, delayed: 0, inFlight: 0 };

    beforeEach(() => {
      queue = `contract-${randomUUID()}`;
      brokers = [];
      stops = [];
    });

    afterEach(async () => {
      for (const stop of stops) stop.abort();
      await Promise.all(brokers.map((broker) => broker.close()));
    });

    test('hands out what was published, body unchanged, and forgets it when done', async () => {
      const broker = await another();
      const body = { text: 'żółć \u0000 🚚', list: [1, 2.5, null, { deep: true }] };
      await broker.publish(queue, [message('a', body)]);
      const consumer = consume(broker, done);
      await consumer.arrived(1);
      await consumer.stop();
      expect(consumer.received).toEqual([{ id: 'a', body, redeliveries: 0 }]);
      await untilDepth(broker, queue, nothing);
    });

    test('an id that is done may be published again', async () => {
      const broker = await another();
      const consumer = consume(broker, done);
      await broker.publish(queue, [message('a')]);
      await consumer.arrived(1);
      await consumer.stop();
      await broker.publish(queue, [message('a', 'anew')]);
      const next = consume(broker, done);
      await next.arrived(1);
      expect(next.received).toEqual([{ id: 'a', body: 'anew', redeliveries: 0 }]);
    });

    test('"again" hands the message out after the delay, not before, and counts', async () => {
      const broker = await another();
      await broker.publish(queue, [message('a')]);
      const at: number[] = [];
      const consumer = consume(broker, ({ redeliveries }) => {
        at.push(Date.now());
        return redeliveries < 2 ? { kind: 'retry', delayMs: 150 } : { kind: 'done' };
      });
      await consumer.arrived(3);
      await consumer.stop();
      expect(consumer.received.map(({ redeliveries }) => redeliveries)).toEqual([0, 1, 2]);
      for (const [i, time] of at.slice(1).entries()) {
        expect(time - (at[i] ?? 0)).toBeGreaterThanOrEqual(149);
        expect(time - (at[i] ?? 0)).toBeLessThan(150 + scaled(1_000));
      }
      await untilDepth(broker, queue, nothing);
    });

    test('a message whose handler threw is handed out again after about a second', async () => {
      const broker = await another();
      await broker.publish(queue, [message('a')]);
      const at: number[] = [];
      const consumer = consume(broker, async ({ redeliveries }) => {
        at.push(Date.now());
        if (redeliveries > 0) return done();
        throw new Error('not this time');
      });
      await consumer.arrived(2);
      await consumer.stop();
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(900);
      await untilDepth(broker, queue, nothing);
    });

    test('never more in flight than the concurrency allows', async () => {
      const broker = await another();
      await broker.publish(queue, messages(40));
      let inFlight = 0;
      let most = 0;
      const consumer = consume(
        broker,
        async () => {
          inFlight += 1;
          most = Math.max(most, inFlight);
          await wait(5);
          inFlight -= 1;
          return done();
        },
        4,
      );
      await consumer.arrived(40);
      await consumer.stop();
      expect(most).toBe(4);
    });

    test('consumers of several processes share a queue: each message is handled once', async () => {
      const processes = [await another(), await another(), await another()];
      const consumers = processes.map((broker) => consume(broker, done, 5));
      const publisher = await another();
      const all = messages(300);
      for (let i = 0; i < all.length; i += 20) await publisher.publish(queue, all.slice(i, i + 20));
      const received = (): ReceivedMessage[] => consumers.flatMap((consumer) => consumer.received);
      await soon(() => expect(received()).toHaveLength(all.length));
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      expect(ids(received())).toEqual(ids(all));
      await untilDepth(publisher, queue, nothing);
    });

    test('when stopped, waits for what is in flight, stores its outcome, and takes no more', async () => {
      const broker = await another();
      await broker.publish(queue, messages(2));
      const { held, release } = gate();
      const consumer = consume(
        broker,
        async () => {
          await held;
          return done();
        },
        1,
      );
      await consumer.arrived(1);
      await untilDepth(broker, queue, { ...nothing, ready: 1, inFlight: 1 });
      let ended = false;
      const stopped = consumer.stop().then(() => {
        ended = true;
      });
      await wait(50);
      expect(ended).toBe(false);
      release();
      await stopped;
      expect(consumer.received).toHaveLength(1);
      await untilDepth(broker, queue, { ...nothing, ready: 1 });
    });

    test('one process leads; another one begins when it stops, and when it is gone', async () => {
      const led: string[] = [];
      let leading = 0;
      let most = 0;
      const lead = (broker: MessageBroker, who: string): { readonly stop: AbortController; ended: Promise<void> } => {
        const stop = new AbortController();
        stops.push(stop);
        const ended = broker.lead(queue, stop.signal, async (signal) => {
          led.push(who);
          most = Math.max(most, ++leading);
          while (!signal.aborted) await wait(5);
          leading -= 1;
        });
        ended.catch(() => undefined);
        return { stop, ended };
      };
      const [one, two, three] = [await another(), await another(), await another()];
      const first = lead(one, 'one');
      await soon(() => expect(led).toEqual(['one']));
      lead(two, 'two');
      // Longer than it takes to find out who leads.
      await wait(700);
      first.stop.abort();
      await first.ended;
      await soon(() => expect(led).toEqual(['one', 'two']));
      const last = lead(three, 'three');
      await two.close();
      await soon(() => expect(led).toEqual(['one', 'two', 'three']));
      last.stop.abort();
      await last.ended;
      expect(most).toBe(1);
    });

    test('leading ends with its work, as that ends', async () => {
      const broker = await another();
      const { signal } = new AbortController();
      await broker.lead(queue, signal, async () => undefined);
      const failure = new Error('The work failed.');
      await expect(broker.lead(queue, signal, () => Promise.reject(failure))).rejects.toBe(failure);
      await broker.lead(queue, AbortSignal.abort(), () => Promise.reject(failure));
    });

    test('a checkpoint keeps its place in the log, by name, and the one stored last counts', async () => {
      const broker = await another();
      const name = `relay-${randomUUID()}`;
      expect(await broker.checkpoint(name)).toMatchObject({ position: 0 });
      const place = { position: 9_007_199_254_740_991, log: randomUUID(), eventId: randomUUID() };
      await broker.storeCheckpoint(name, { position: 17 });
      await broker.storeCheckpoint(name, place);
      const other = await another();
      expect(await other.checkpoint(name)).toEqual(place);
      expect(await other.checkpoint(`${name}-other`)).toMatchObject({ position: 0 });
      await other.storeCheckpoint(name, { position: 5, log: place.log });
      expect(await broker.checkpoint(name)).toEqual({ position: 5, log: place.log });
    });

    test('a checkpoint is read by several processes at once', async () => {
      const brokers = await Promise.all([another(), another(), another()]);
      const name = `relay-${randomUUID()}`;
      await brokers[0]?.storeCheckpoint(name, { position: 17 });
      const read = await Promise.all(brokers.map((broker) => broker.checkpoint(name)));
      expect(read.map(({ position }) => position)).toEqual([17, 17, 17]);
    });

    test('of a publish with a message that is not JSON nothing is stored', async () => {
      const broker = await another();
      const circular: { self?: unknown } = {};
      circular.self = circular;
      await expect(broker.publish(queue, [message('a'), message('b', circular)])).rejects.toThrow();
      await untilDepth(broker, queue, nothing);
    });
  });
}
