/** The messages that relay, deliveries and replays exchange through the broker. */
import { z } from 'zod';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/events.js';
import type { Message } from '../ports/messageBroker.js';

export const DELIVERY_QUEUE = 'webhook-deliveries';

/** Names the delivery that is due. Everything else about it is in the log. */
export const deliveryJob = z.object({
  tenant: z.string(),
  deliveryId: z.string(),
  /** Missing in jobs of earlier releases. */
  webhookId: z.string().optional(),
  /** '' if the delivery is about no order. Missing in jobs of earlier releases. */
  orderId: z.string().optional(),
  /** Position of the event that enabled the webhook, for a delivery that may have waited for that. */
  enabledAt: z.number().optional(),
});
export type DeliveryJob = z.infer<typeof deliveryJob>;
/** As this release publishes it. */
export type NamedDelivery = DeliveryJob & Required<Pick<DeliveryJob, 'webhookId' | 'orderId'>>;

/** @param id of the message; needed where the queue may still hold one with the delivery's own id */
export const deliveryMessage = (job: NamedDelivery, id: string = job.deliveryId): Message => ({
  id,
  body: job,
});

/** Work on many deliveries of one webhook, done in steps. */
export const BACKFILL_QUEUE = 'webhook-backfills';

/** Common to both kinds: the webhook, and the event in the log that requested the work. */
const jobFields = { tenant: z.string(), webhookId: z.string(), eventId: z.string(), position: z.number() };

/** How far a job has come: the log is read up to `done`, and the last requested delivery is at `requested`, or 0. */
const progressFields = { done: z.number(), requested: z.number() };

/**
 * The webhook was enabled: open deliveries are due, and then what it missed is requested. Without progress until the first
 * is done.
 */
const resumeJob = z.object({ task: z.literal('resume'), ...jobFields, ...z.object(progressFields).partial().shape });
export type ResumeJob = z.infer<typeof resumeJob>;

/** A range of the log is to be sent to the webhook. */
const backfillJob = z.object({
  task: z.literal('backfill'),
  ...jobFields,
  correlationId: z.string(),
  backfillId: z.string(),
  kinds: z.array(z.enum(WEBHOOK_EVENT_KINDS)),
  from: z.string(),
  to: z.string().optional(),
  ...progressFields,
});
export type BackfillJob = z.infer<typeof backfillJob>;

export const replayJob = z.discriminatedUnion('task', [resumeJob, backfillJob]);
