/**
 * Starts the relay over on a log that lacks events which it had relayed: an older copy was put back, or another log was
 * accepted.
 *
 * The log decides. A delivery that has ended there is left alone. One that is open there is published, since its job
 * may have been done after the copy was made. One that is wanted and was never requested there is requested; its id
 * follows from the event, so a receiver that had it before sees the id it knows.
 */
import type { Commands } from '../commands/context.js';
import { loadDelivery } from '../commands/webhooks/deliveryStream.js';
import type { EventPosition, Position, RecordedEvent } from '../ports/eventStore.js';
import { NOWHERE } from '../ports/logAnchor.js';
import type { Message, MessageBroker } from '../ports/messageBroker.js';
import { appendRequests, type DeliveryRequest, RequestSequence } from './deliveryRequests.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE, type DeliveryJob, deliveryMessage } from './queue.js';
import type { RelayCheckpoint } from './relayCheckpoint.js';
import {
  REMEMBERED_ORDERS,
  relayCaller,
  requestedDelivery,
  SLICE_EVENTS,
  subscriptions,
  taskMessages,
  wantedStreams,
} from './relayedEvents.js';

type ResetDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now'>;
  readonly broker: MessageBroker;
};

/**
 * Processes the log up to its present head. Meanwhile the stored checkpoint is the beginning: after a crash all is
 * repeated, harmlessly.
 * @returns the position to continue from; undefined if the signal ended it
 */
export async function resetRelay(
  { commands, broker }: ResetDeps,
  checkpoint: RelayCheckpoint,
  signal: AbortSignal,
): Promise<Position | undefined> {
  const { eventStore, directory } = commands;
  await checkpoint.reset(NOWHERE);
  const head = await eventStore.head();
  await directory.waitFor(head);
  const sequence = new RequestSequence(eventStore, REMEMBERED_ORDERS);
  const options = { after: 0, streamPrefixes: wantedStreams(directory), maxCount: SLICE_EVENTS, signal };
  for await (const slice of eventStore.subscribe(options)) {
    const events = slice.events.filter(({ position }) => position <= head);
    const wanted = await sequence.requests(events, (event) => subscriptions(directory, event));
    const missing = await filtered(wanted, async (each) => (await loadDelivery(eventStore, each)) === undefined);
    await appendRequests(commands, missing, relayCaller);
    const open = await filtered(events.flatMap(jobOf), async (job) => {
      return (await loadDelivery(eventStore, job))?.delivery.outcome === 'open';
    });
    await broker.publish(DELIVERY_QUEUE, messages([...open, ...missing.map(jobOfRequest)], head));
    await broker.publish(BACKFILL_QUEUE, events.flatMap(taskMessages));
    if (slice.position < head) continue;
    await checkpoint.reset(placeIn(slice, head));
    return head;
  }
  return undefined;
}

const jobOf = (event: RecordedEvent): readonly Required<DeliveryJob>[] => {
  const requested = requestedDelivery(event);
  return requested === undefined ? [] : [requested.job];
};

const jobOfRequest = ({ tenant, deliveryId, subject }: DeliveryRequest): Required<DeliveryJob> => {
  const { webhookId, orderId } = subject;
  return { tenant, deliveryId, webhookId, orderId };
};

/** New message ids: the broker may hold a message with the delivery's id, dead or taken, and would ignore this one. */
const messages = (jobs: readonly Required<DeliveryJob>[], head: Position): readonly Message[] =>
  jobs.map((job) => deliveryMessage(job, `${job.deliveryId} anew ${head}`));

/** The slice may reach beyond `head`. */
const placeIn = ({ position, eventId }: EventPosition, head: Position): EventPosition =>
  position === head ? { position, eventId } : { position: head };

async function filtered<Each>(all: readonly Each[], keep: (each: Each) => Promise<boolean>): Promise<readonly Each[]> {
  const kept = await Promise.all(all.map(keep));
  return all.filter((_, index) => kept[index]);
}
