/** Messages as RabbitMQ carries them: the body as JSON, the id as `message-id`, the rest in headers. */
import type { Message as AmqpMessage, Options } from 'amqplib';
import type { LogAnchor } from '../../../ports/logAnchor.js';
import type { Message } from '../../../ports/messageBroker.js';
import { checkpointQueue, delayQueueFor, leaderQueue } from './queues.js';

/** A message to publish. */
export type Outgoing = { readonly queue: string; readonly content: Buffer; readonly options: Options.Publish };

type Raw = Pick<AmqpMessage, 'content' | 'properties'> & { readonly fields: { readonly redelivered: boolean } };

/** @param deliveries earlier ones, carried over to each copy: the server counts only within one copy */
const outgoing = (queue: string, id: string, content: Buffer, deliveries = 0): Outgoing => ({
  queue,
  content,
  options: {
    persistent: true,
    mandatory: true,
    contentType: 'application/json',
    messageId: id,
    headers: { deliveries },
  },
});

/** @throws TypeError if the body is not JSON */
export function newMessage(queue: string, { id, body }: Message): Outgoing {
  const json: string | undefined = JSON.stringify(body);
  if (json === undefined) throw new TypeError(`The body of message ${id} is not JSON.`);
  return outgoing(queue, id, Buffer.from(json));
}

/** The same message, to be delivered after the delay. */
export const delayedCopy = (queue: string, raw: Raw, delayMs: number, deliveries: number): Outgoing =>
  outgoing(delayQueueFor(queue, delayMs), idOf(raw), raw.content, deliveries);

export const checkpointMessage = (name: string, { position, log, eventId }: LogAnchor): Outgoing =>
  outgoing(checkpointQueue(name), name, Buffer.from(JSON.stringify({ position, log, eventId })));

/** The process that receives this message leads. */
export const candidateMessage = (name: string): Outgoing => outgoing(leaderQueue(name), name, Buffer.from('{}'));

export const idOf = ({ properties }: Raw): string => String(properties.messageId ?? '');

/** Earlier deliveries, including those to who inspects the queue. */
export function deliveriesOf({ properties: { headers = {} }, fields }: Raw): number {
  const { deliveries = 0, 'x-delivery-count': ofThisCopy = fields.redelivered ? 1 : 0 } = headers;
  return Number(deliveries) + Number(ofThisCopy);
}
