/**
 * Turns events of the log into deliveries: one for each event, kind and subscribed webhook. Also publishes work that
 * the log requests: replays, and deliveries that waited for a webhook that was enabled again.
 */
import type { Tracer } from '@opentelemetry/api';
import type { Commands } from '../commands/context.js';
import type { EventSlice, Position } from '../ports/eventStore.js';
import { acceptFound, findLog } from '../ports/logAnchor.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import { appendRequests, RequestSequence } from './deliveryRequests.js';
import { BACKFILL_QUEUE, deliveryMessage } from './queue.js';
import { RelayCheckpoint, relayedPlace } from './relayCheckpoint.js';
import {
  isAboutWebhook,
  REMEMBERED_ORDERS,
  relayCaller,
  replayMessages,
  SLICE_EVENTS,
  subscriptions,
  taskMessages,
  wantedStreams,
} from './relayedEvents.js';
import { resetRelay } from './resetRelay.js';
import { keepSourceEvent } from './sourceEvents.js';
import { traceRelay } from './spans.js';

export type RelayDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now'>;
  readonly broker: MessageBroker;
  /** Unset if tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Accepts a log other than the checkpoint's, and starts over on it. Default false: it is an error. */
  readonly acceptLog?: boolean;
  /** Called with the reason if the log is processed again from its start. */
  readonly onReset?: (reason: string) => void;
};

/**
 * Runs until the signal ends it. Several relays may run side by side: their writes are the same.
 * @throws OtherLogError
 */
export async function runRelay(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const { eventStore } = deps.commands;
  const checkpoint = new RelayCheckpoint(deps.broker, await eventStore.identity());
  try {
    const kept = await relayedPlace(deps.broker);
    const found = await findLog(eventStore, kept);
    acceptFound(found, 'The webhook jobs', deps.acceptLog ?? false);
    let position: Position | undefined = kept.position;
    if (found !== 'same') {
      deps.onReset?.('the relay was further in another copy of the event log: it goes through this one anew');
      position = await resetRelay(deps, checkpoint, signal);
    }
    while (position !== undefined) position = await relayFrom(deps, position, checkpoint, signal);
  } finally {
    checkpoint.stop();
  }
}

/**
 * Relays until other streams have to be read. Returns the position to continue from with those; undefined if the signal
 * ended it.
 *
 * Orders and tables are read only while some webhook subscribes to them, so that unwanted batches of a table cost
 * nothing. Nothing is missed: the subscriptions at `after` are known when the streams are chosen, and each later change
 * is in a `webhooks-` stream, which is always read. When a change needs other streams, its slice is read again with
 * those; events before that slice are older than the subscription.
 */
async function relayFrom(
  deps: RelayDeps,
  after: Position,
  checkpoint: RelayCheckpoint,
  signal: AbortSignal,
): Promise<Position | undefined> {
  const { eventStore, directory } = deps.commands;
  await directory.waitFor(after);
  const streamPrefixes = wantedStreams(directory);
  const sequence = new RequestSequence(eventStore, REMEMBERED_ORDERS);
  let position = after;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, maxCount: SLICE_EVENTS, signal })) {
    const change = slice.events.findLast(isAboutWebhook);
    if (change !== undefined) {
      // A webhook that was created before an event must be known here when the event is relayed.
      await directory.waitFor(change.position);
      if (wantedStreams(directory).join() !== streamPrefixes.join()) return position;
    }
    await relay(deps, slice, sequence, checkpoint);
    position = slice.position;
  }
  return undefined;
}

async function relay(
  { commands, broker, tracer }: RelayDeps,
  slice: EventSlice,
  sequence: RequestSequence,
  checkpoint: RelayCheckpoint,
): Promise<void> {
  const { events } = slice;
  const requests = await sequence.requests(events, (event) => subscriptions(commands.directory, event));
  for (const source of new Set(requests.map((request) => request.source))) {
    keepSourceEvent(commands.eventStore, source);
  }
  // Crash safety rests on this order. First the deliveries are appended, then the messages that name them are
  // published, so no message names a delivery that is missing, or one that waits for a missing one. The checkpoint
  // moves with the last messages. After a crash before that the slice is processed again, which repeats nothing: the
  // ids are the same.
  await traceRelay(tracer, requests, async (traceparentOf) => {
    await appendRequests(commands, requests, (source) => relayCaller(source, traceparentOf(source)));
    const deliveries = [
      ...requests.map(({ tenant, deliveryId, subject: { webhookId, orderId } }) =>
        deliveryMessage({ tenant, deliveryId, webhookId, orderId }),
      ),
      ...events.flatMap(replayMessages),
    ];
    const tasks = events.flatMap(taskMessages);
    if (tasks.length > 0) await broker.publish(BACKFILL_QUEUE, tasks);
    if (deliveries.length + tasks.length === 0) checkpoint.passed(slice);
    else await checkpoint.publish(deliveries, slice);
  });
}
