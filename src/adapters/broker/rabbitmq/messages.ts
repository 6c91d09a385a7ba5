/** Messages as RabbitMQ carries them: the body as JSON, the id as `message-id`, the rest in headers. */
import type { Message as AmqpMessage, MessagePropertyHeaders, Options } from 'amqplib';
import type { LogAnchor } from '../../../ports/eventStore.js';
import type { DeadLetter, Message, ReceivedMessage } from '../../../ports/messageBroker.js';
import { checkpointQueue, deadQueue, delayName, delayRoute, leaderQueue, MAX_DELAY_MS } from './topology.js';

/** All times are milliseconds since the epoch. */
type Headers = {
  /** Earlier deliveries, carried over to each copy: the server counts only within one copy. */
  readonly deliveries?: number;
  readonly 'ready-at'?: number;
  /** Not to be delivered earlier; set only if one round of delays is too short. */
  readonly 'due-at'?: number;
  readonly reason?: string;
  readonly 'dead-at'?: number;
};

/** A message to publish. */
export type Outgoing = {
  readonly exchange: string;
  readonly routingKey: string;
  readonly content: Buffer;
  readonly options: Options.Publish;
};

type Raw = Pick<AmqpMessage, 'content' | 'properties'> & { readonly fields: { readonly redelivered: boolean } };

const outgoing = (exchange: string, routingKey: string, id: string, content: Buffer, headers: Headers): Outgoing => ({
  exchange,
  routingKey,
  content,
  options: { persistent: true, mandatory: true, contentType: 'application/json', messageId: id, headers },
});

/** @throws TypeError if the body is not JSON */
export function newMessage(queue: string, { id, body }: Message): Outgoing {
  const json: string | undefined = JSON.stringify(body);
  if (json === undefined) throw new TypeError(`The body of message ${id} is not JSON.`);
  return outgoing('', queue, id, Buffer.from(json), { 'ready-at': Date.now() });
}

/** The same message, to be delivered after the delay. */
export function delayedCopy(queue: string, raw: Raw, delayMs: number, deliveries: number): Outgoing {
  const route = delayRoute(delayMs);
  const now = Date.now();
  const headers: Headers = {
    deliveries,
    'ready-at': now + route.delayMs,
    ...(delayMs > MAX_DELAY_MS ? { 'due-at': now + delayMs } : {}),
  };
  const exchange = route.level === undefined ? '' : delayName(queue, route.level);
  const routingKey = route.level === undefined ? queue : route.routingKey;
  return outgoing(exchange, routingKey, idOf(raw), raw.content, headers);
}

export function deadCopy(queue: string, raw: Raw, reason: string): Outgoing {
  const headers: Headers = { deliveries: deliveriesOf(raw) + 1, 'dead-at': Date.now(), reason };
  return outgoing('', deadQueue(queue), idOf(raw), raw.content, headers);
}

export const revivedCopy = (queue: string, raw: Raw): Outgoing =>
  outgoing('', queue, idOf(raw), raw.content, {
    deliveries: numberHeader(raw, 'deliveries') ?? 0,
    'ready-at': Date.now(),
  });

export const checkpointMessage = (name: string, { position, log, eventId }: LogAnchor): Outgoing =>
  outgoing('', checkpointQueue(name), name, Buffer.from(JSON.stringify({ position, log, eventId })), {});

/** The process that receives this message leads. */
export const candidateMessage = (name: string): Outgoing =>
  outgoing('', leaderQueue(name), name, Buffer.from('{}'), {});

/** The beginning of the log if the message is no checkpoint. */
export function placeOf(raw: Raw): LogAnchor {
  const body = bodyOrText(raw);
  // Format of earlier releases.
  if (typeof body === 'number') return { position: body };
  const { position, log, eventId } = Object(body);
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return typeof position === 'number' ? { position, log: text(log), eventId: text(eventId) } : { position: 0 };
}

/** @throws SyntaxError if the body is not JSON: the message is not ours */
export const received = (raw: Raw): ReceivedMessage => ({
  id: idOf(raw),
  body: JSON.parse(raw.content.toString('utf8')),
  redeliveries: deliveriesOf(raw),
});

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

export const readyAt = (raw: Raw): number | undefined => numberHeader(raw, 'ready-at');
export const dueAt = (raw: Raw): number | undefined => numberHeader(raw, 'due-at');

/** Earlier deliveries, including those to a browser of the queue. */
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
