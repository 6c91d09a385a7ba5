/** Work that goes through many deliveries of one webhook: backfills, and resuming what waited for a disabled one. */

import type { DeliveryLogEntry, DeliveryQuery } from '../ports/deliveryLog.js';
import type { Outcome, ReceivedMessage } from '../ports/messageBroker.js';
import { type BackfillDeps, backfillStep } from './backfill.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE, deliveryMessage, type ResumeJob, replayJob } from './queue.js';

const PAGE = 200;
const PROJECTION_WAIT_MS = 1_000;

/** Runs until the signal ends it, and then until the step in work has ended. */
export async function runReplayWorker(deps: BackfillDeps, signal: AbortSignal): Promise<void> {
  await deps.broker.consume(BACKFILL_QUEUE, { concurrency: 1, signal }, (message) => work(deps, message, signal));
}

async function work(deps: BackfillDeps, message: ReceivedMessage, signal: AbortSignal): Promise<Outcome> {
  const job = replayJob.safeParse(message.body);
  if (!job.success) return { kind: 'dead', reason: 'The message names no work.' };
  if (job.data.task === 'resume') return resume(deps, job.data);
  return backfillStep(deps, job.data, message.redeliveries, signal);
}

/**
 * Makes every open delivery of a webhook due. They wait in messages that come again by themselves, but up to an hour
 * later: so these are further ones, with ids that the queue does not hold.
 */
async function resume({ commands, broker }: BackfillDeps, job: ResumeJob): Promise<Outcome> {
  const { tenant, webhookId, eventId, position } = job;
  const { readModels } = commands;
  if (!(await readModels.waitFor('deliveries', position, PROJECTION_WAIT_MS))) return { kind: 'again', delayMs: 1_000 };
  let query: DeliveryQuery = { webhookId, state: 'open', order: 'oldest', limit: PAGE };
  for (;;) {
    const page = await readModels.deliveries(tenant, query);
    const last = page.at(-1);
    if (last === undefined) return { kind: 'done' };
    const message = ({ id, orderId }: DeliveryLogEntry) =>
      deliveryMessage({ tenant, deliveryId: id, webhookId, orderId: orderId ?? '' }, `${id}.${eventId}`);
    await broker.publish(DELIVERY_QUEUE, page.map(message));
    query = { ...query, after: last.position };
  }
}
