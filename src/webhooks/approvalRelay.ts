/** Turns approvals in the log into deliveries: one for each webhook that is subscribed. */
import { v5 } from 'uuid';
import { type Caller, type Commands, toAppend } from '../commands/context.js';
import type { Webhook } from '../domain/identity/directory.js';
import { deliveryStream, parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { DeliveryEvent } from '../domain/webhook/events.js';
import { type RecordedEvent, WrongExpectedRevisionError } from '../ports/eventStore.js';
import type { Message, MessageBroker } from '../ports/messageBroker.js';
import { DELIVERY_QUEUE, type DeliveryJob } from './queue.js';

export type RelayDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now' | 'newId'>;
  readonly broker: MessageBroker;
};

const CHECKPOINT = 'approval-relay';
const RELAY = { kind: 'system', id: 'approval-relay' } as const;

/** Approvals carry whole orders, so a slice is kept small. */
const SLICE_EVENTS = 100;

/** Where no approval passes, the checkpoint is moved this seldom: reading on from an older one is harmless. */
const IDLE_CHECKPOINT_MS = 10_000;

/**
 * A webhook gets no approval from before it was made, even when the relay starts anew from the beginning of the log
 * (another broker). The clocks of several processes differ, and an export too many is better than one that is lost.
 */
const CLOCK_TOLERANCE_MS = 10_000;

/** Runs until the signal ends it. Several relays may run side by side: what they write is the same. */
export async function runApprovalRelay(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const { commands, broker } = deps;
  const after = await broker.checkpoint(CHECKPOINT);
  const streamPrefixes = [STREAM_PREFIXES.order];
  let checkpointAt = Date.now();
  for await (const slice of commands.eventStore.subscribe({ after, streamPrefixes, maxCount: SLICE_EVENTS, signal })) {
    const approvals = slice.events.filter((event) => event.type === 'OrderApproved');
    if (approvals.length === 0 && Date.now() - checkpointAt < IDLE_CHECKPOINT_MS) continue;
    const messages = await requestDeliveries(deps, approvals);
    // Crash safety rests on the order of the steps. First the deliveries are in the log, then the messages that name
    // them are published, so no message names what is not there. The checkpoint moves with the messages, so after a
    // crash before this line the slice is gone through again, which repeats nothing: the ids are the same.
    await broker.publishWithCheckpoint(DELIVERY_QUEUE, messages, { name: CHECKPOINT, position: slice.position });
    checkpointAt = Date.now();
  }
}

async function requestDeliveries(deps: RelayDeps, approvals: readonly RecordedEvent[]): Promise<Message[]> {
  const last = approvals.at(-1);
  if (last === undefined) return [];
  // Webhooks that were made before the approval must be known here.
  await deps.commands.directory.waitFor(last.position);
  const requests = approvals.flatMap((approval) =>
    subscribers(deps, approval).map((webhook) => requestDelivery(deps, approval, webhook)),
  );
  return Promise.all(requests);
}

function subscribers({ commands }: RelayDeps, approval: RecordedEvent): Webhook[] {
  const { tenant, occurredAt } = approval.metadata;
  const latest = Date.parse(occurredAt) + CLOCK_TOLERANCE_MS;
  return [...(commands.directory.tenant(tenant)?.webhooks.values() ?? [])].filter(
    (webhook) => webhook.events.includes('order.approved') && Date.parse(webhook.createdAt) <= latest,
  );
}

/** Ids of the delivery and of its first event follow from webhook and approval, so a repeat finds them taken. */
async function requestDelivery({ commands }: RelayDeps, approval: RecordedEvent, webhook: Webhook): Promise<Message> {
  const { tenant, correlationId } = approval.metadata;
  const deliveryId = v5(approval.id, webhook.id);
  const event: DeliveryEvent = {
    type: 'DeliveryRequested',
    data: {
      webhookId: webhook.id,
      kind: 'order.approved',
      orderId: parseStream(approval.stream).rest,
      sourceEventId: approval.id,
      sourceRevision: approval.revision,
    },
  };
  const caller: Caller = { tenant, actor: RELAY, correlationId, causationId: approval.id };
  const toStore = toAppend({ newId: () => v5('requested', deliveryId) }, caller, commands.now(), [event]);
  try {
    await commands.eventStore.append(deliveryStream(tenant, deliveryId), toStore, 'no-stream');
  } catch (error) {
    // The delivery was requested before; the message may be missing still.
    if (!(error instanceof WrongExpectedRevisionError)) throw error;
  }
  const job: DeliveryJob = { tenant, deliveryId };
  return { id: deliveryId, body: job };
}
