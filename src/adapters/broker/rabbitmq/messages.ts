/** Messages as RabbitMQ carries them: the body as JSON, the id as `message-id`, the rest in headers. */
import type { Message as AmqpMessage, MessagePropertyHeaders, Options } from 'amqplib';
import type { LogAnchor } from '../../../ports/logAnchor.js';
import type { DeadLetter, Message } from '../../../ports/messageBroker.js';
import { checkpointQueue, deadQueue, delayQueueFor, leaderQueue } from './queues.js';

type Headers = {
  /** Earlier deliveries, carried over to each copy: the server counts only within one copy. */
  readonly deliveries?: number;
  /** Milliseconds since the epoch, as `dead-at`. */
  readonly 'ready-at'?: number;
  readonly reason?: string;
  readonly 'dead-at'?: number;
};

/** A message to publish. */
export type Outgoing = { readonly queue: string; readonly content: Buffer; readonly options: Options.Publish };

type Raw = Pick<AmqpMessage, 'content' | 'properties'> & { readonly fields: { readonly redelivered: boolean } };

const outgoing = (queue: string, id: string, content: Buffer, headers: Headers): Outgoing => ({
  queue,
  content,
  options: { persistent: true, mandatory: true, contentType: 'application/json', messageId: id, headers },
});

/** @throws TypeError if the body is not JSON */
export function newMessage(queue: string, { id, body }: Message): Outgoing {
  const json: string | undefined = JSON.stringify(body);
  if (json === undefined) throw new TypeError(`The body of message ${id} is not JSON.`);
  return outgoing(queue, id, Buffer.from(json), { 'ready-at': Date.now() });
}

/** The same message, to be delivered after the delay. */
export const delayedCopy = (queue: string, raw: Raw, delayMs: number, deliveries: number): Outgoing =>
  outgoing(delayQueueFor(queue, delayMs), idOf(raw), raw.content, { deliveries, 'ready-at': Date.now() + delayMs });

export const deadCopy = (queue: string, raw: Raw, reason: string): Outgoing =>
  outgoing(deadQueue(queue), idOf(raw), raw.content, { 'dead-at': Date.now(), reason });

export const checkpointMessage = (name: string, { position, log, eventId }: LogAnchor): Outgoing =>
  outgoing(checkpointQueue(name), name, Buffer.from(JSON.stringify({ position, log, eventId })), {});

/** The process that receives this message leads. */
export const candidateMessage = (name: string): Outgoing => outgoing(leaderQueue(name), name, Buffer.from('{}'), {});

/** The beginning of the log if the message is no checkpoint. */
export function checkpointOf(raw: Raw): LogAnchor {
  const { position, log, eventId } = Object(bodyOrText(raw));
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return typeof position === 'number' ? { position, log: text(log), eventId: text(eventId) } : { position: 0 };
}

export function deadLetter(raw: Raw): DeadLetter {
  const reason = headersOf(raw).reason;
  return {
    id: idOf(raw),
    body: bodyOrText(raw),
    reason: typeof reason === 'string' ? reason : '',
    at: new Date(numberHeader(raw, 'dead-at') ?? 0).toISOString(),
  };
}

export const idOf = ({ properties }: Raw): string => String(properties.messageId ?? '');

/** When it became ready, or is to be (ms since the epoch). */
export const readyAt = (raw: Raw): number => numberHeader(raw, 'ready-at') ?? Date.now();

/** Earlier deliveries, including those to who inspects the queue. */
export const deliveriesOf = (raw: Raw): number =>
  (numberHeader(raw, 'deliveries') ?? 0) + (numberHeader(raw, 'x-delivery-count') ?? (raw.fields.redelivered ? 1 : 0));

function bodyOrText({ content }: Raw): unknown {
  const text = content.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    // Not ours; an operator sees it unchanged.
    return text;
  }
}

const headersOf = ({ properties }: Raw): MessagePropertyHeaders => properties.headers ?? {};

function numberHeader(raw: Raw, name: keyof Headers | 'x-delivery-count'): number | undefined {
  const value: unknown = headersOf(raw)[name];
  return typeof value === 'number' ? value : undefined;
}
