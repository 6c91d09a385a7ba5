/** What tests of the broker on RabbitMQ share. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { BrokerUnavailableError, type MessageBroker, type Outcome } from '#app/ports/messageBroker.js';
import { type Handler, RecordingConsumer } from './recordingConsumer.js';

export const done = (): Outcome => ({ kind: 'done' });
export const consume = (broker: MessageBroker, queue: string, handle: Handler, concurrency = 10): RecordingConsumer =>
  new RecordingConsumer(broker, queue, handle, concurrency, new AbortController());
export const newQueue = (): string => `contract-${randomUUID()}`;

/** Tries until the broker is available. */
export async function eventually(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof BrokerUnavailableError)) throw error;
      await wait(50);
    }
  }
}

export const published = (broker: MessageBroker, queue: string, id: string): Promise<void> =>
  eventually(() => broker.publish(queue, [{ id, body: 1 }]));
