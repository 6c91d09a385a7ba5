/** Makes deliveries: takes due ones from the queue and takes each on from where its log says it stands. */
import { CUT_OFF, decideOutcome, nextStep } from '../domain/webhook/delivery.js';
import type { Outcome, ReceivedMessage } from '../ports/messageBroker.js';
import { attempt, CONTENDED, giveUp, retryAfter } from './attempt.js';
import { type DeliveryKey, type LoadedDelivery, loadDelivery, recordDelivery } from './deliveryLog.js';
import { endpointKey } from './endpoint.js';
import { DELIVERY_QUEUE, type DeliveryJob, deliveryJob } from './queue.js';
import { newRun, type SubscriberDeps, type SubscriberRun } from './subscriberRun.js';

const DONE: Outcome = { kind: 'done' };
const CALL_LIMIT_MS = 20_000;
const MAX_TROUBLE_WAIT_MS = 60_000;

/** Runs until the signal ends it, and then until the calls in work have ended. */
export async function runSubscriber(deps: SubscriberDeps, signal: AbortSignal): Promise<void> {
  const run = newRun(deps);
  const stop = (): void => {
    run.lanes.stop();
    run.turns.stop();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await deps.broker.consume(DELIVERY_QUEUE, { concurrency: run.inHand, signal }, (message) => handle(run, message));
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function handle(run: SubscriberRun, message: ReceivedMessage): Promise<Outcome> {
  const job = deliveryJob.safeParse(message.body);
  if (!job.success) return { kind: 'dead', reason: 'The message names no delivery.' };
  try {
    return await inTurn(run, job.data, message.redeliveries);
  } catch (error) {
    // The service's own trouble (the log cannot be reached), not the receiver's; the log tells how far it had come.
    const delayMs = Math.min(MAX_TROUBLE_WAIT_MS, 1000 * 2 ** Math.min(message.redeliveries, 10));
    run.logger.error({ err: error, ...job.data, delayMs }, 'webhook delivery is put off');
    return { kind: 'again', delayMs };
  }
}

/** Sends the message back, before the log is asked, where its webhook can take no more now. */
async function inTurn(run: SubscriberRun, job: DeliveryJob, redeliveries: number): Promise<Outcome> {
  const { lanes, circuits, turns, random } = run;
  const webhookId = job.webhookId ?? (await loadDelivery(run.commands, job))?.delivery.subject.webhookId;
  if (webhookId === undefined) return missing(job);
  const endpoint = endpointKey({ tenant: job.tenant, webhookId });
  const leftAloneMs = circuits.waitMs(endpoint);
  if (leftAloneMs > 0) return { kind: 'again', delayMs: leftAloneMs * (1 + random() / 2) };
  const leave = lanes.enter(endpoint);
  if (leave === undefined) return { kind: 'again', delayMs: lanes.delayMs(endpoint, redeliveries) };
  try {
    return await turns.take(job, () => deliver(run, job, redeliveries));
  } finally {
    leave();
  }
}

async function deliver(run: SubscriberRun, key: DeliveryKey, redeliveries: number): Promise<Outcome> {
  const loaded = await loadDelivery(run.commands, key);
  return loaded === undefined ? missing(key) : advance(run, loaded, redeliveries);
}

const missing = ({ deliveryId }: DeliveryKey): Outcome => ({
  kind: 'dead',
  reason: `There is no delivery ${deliveryId}.`,
});

/** Takes the delivery on from wherever it stands, by its log alone, as far as it goes now. */
async function advance(run: SubscriberRun, loaded: LoadedDelivery, redeliveries: number): Promise<Outcome> {
  const { commands, settings, turns } = run;
  const { delivery, tenant } = loaded;
  const timing = { waits: settings.backoffMs, callLimitMs: settings.callLimitMs ?? CALL_LIMIT_MS };
  const step = nextStep(delivery, commands.now(), timing);
  switch (step.kind) {
    case 'over':
      return DONE;
    case 'wait':
      return { kind: 'again', delayMs: step.delayMs };
    case 'settle': {
      const events = decideOutcome(delivery, step.attempt, CUT_OFF, retryAfter(run, loaded, CUT_OFF));
      const settled = await recordDelivery(commands, loaded, events);
      return settled === undefined ? CONTENDED : advance(run, settled, redeliveries);
    }
    case 'exhausted':
      return giveUp(run, loaded);
    case 'attempt': {
      const { after } = delivery.subject;
      const waitMs = after === undefined ? 0 : await turns.wait({ tenant, deliveryId: after });
      return waitMs > 0 ? { kind: 'again', delayMs: waitMs } : attempt(run, loaded, step.attempt, redeliveries);
    }
  }
}
