/** The messages that relay, deliveries and replays exchange through the broker. */
import { z } from 'zod';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/events.js';
import type { Message } from '../ports/messageBroker.js';

export const DELIVERY_QUEUE = 'webhook-deliveries';

/** Which delivery is due; everything else about it is in the log. */
export const deliveryJob = z.object({
  tenant: z.string(),
  deliveryId: z.string(),
  /** Jobs of earlier versions lack it. */
  webhookId: z.string().optional(),
  /** '' where the delivery is about no order. Jobs of earlier versions lack it. */
  orderId: z.string().optional(),
});
export type DeliveryJob = z.infer<typeof deliveryJob>;

/** @param id of the message, where the delivery's own may still be held by the queue */
export const deliveryMessage = (job: Required<DeliveryJob>, id: string = job.deliveryId): Message => ({
  id,
  body: job,
});

/** Work that goes through many deliveries of one webhook, a step at a time. */
export const BACKFILL_QUEUE = 'webhook-backfills';

/** What both kinds of it name: the webhook, and the event in the log that asks for it. */
const ofWebhook = { tenant: z.string(), webhookId: z.string(), eventId: z.string(), position: z.number() };

/** Everything that waits for the webhook is due: it was enabled. */
const resumeJob = z.object({ task: z.literal('resume'), ...ofWebhook });
export type ResumeJob = z.infer<typeof resumeJob>;

/** A range of the log is to be sent to the webhook. */
const backfillJob = z.object({
  task: z.literal('backfill'),
  ...ofWebhook,
  correlationId: z.string(),
  backfillId: z.string(),
  kinds: z.array(z.enum(WEBHOOK_EVENT_KINDS)),
  from: z.string(),
  to: z.string(),
  /** Position up to which the log has been gone through. */
  done: z.number(),
  /** Position of the last delivery that was requested; 0 before the first. */
  requested: z.number(),
});
export type BackfillJob = z.infer<typeof backfillJob>;

export const replayJob = z.discriminatedUnion('task', [resumeJob, backfillJob]);
