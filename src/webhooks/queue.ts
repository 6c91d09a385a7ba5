/** The messages that relay, deliveries and ranges exchange through the broker. */
import { z } from 'zod';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/catalogue.js';
import type { Message, Outcome } from '../ports/messageBroker.js';

export const DONE: Outcome = { kind: 'done' };
export const retryIn = (delayMs: number): Outcome => ({ kind: 'retry', delayMs });

export const DELIVERY_QUEUE = 'webhook-deliveries';

/** Names the delivery that is due. Everything else about it is in the log. */
export const deliveryJob = z.object({
  tenant: z.string(),
  deliveryId: z.string(),
  webhookId: z.string(),
  /** '' if the delivery is about no order. */
  orderId: z.string(),
  /** Position of the event that enabled the webhook, for a delivery that may have waited for that. */
  enabledAt: z.number().optional(),
});
export type DeliveryJob = z.infer<typeof deliveryJob>;

/** @param id of the message; needed where the queue may still hold one with the delivery's own id */
export const deliveryMessage = (job: DeliveryJob, id: string = job.deliveryId): Message => ({ id, body: job });

/** Work on many deliveries of one tenant, in steps through a range of the log. */
export const BACKFILL_QUEUE = 'webhook-backfills';

export const rangeJob = z.object({
  /**
   * `relay`: the relay left these events of the tenant out, as they have too many deliveries. `resume`: the webhook was
   * enabled at the end of the range, and gets what it missed. `backfill`: the webhook is sent the range again.
   */
  task: z.enum(['relay', 'resume', 'backfill']),
  tenant: z.string(),
  /** End of the range. What requested the work is there or before. */
  position: z.number(),
  /** The log is read up to here. Unset: a webhook was enabled, and its open deliveries are due first. */
  done: z.number().optional(),
  /** Position of the last delivery that was requested; 0: none. */
  requested: z.number().default(0),
  /** The event that requests the work. Like the rest, it is unset for what the relay left out. */
  eventId: z.string().default(''),
  webhookId: z.string().default(''),
  // The rest is set for a backfill.
  backfillId: z.string().default(''),
  correlationId: z.string().default(''),
  kinds: z.array(z.enum(WEBHOOK_EVENT_KINDS)).readonly().default([]),
  from: z.string().default(''),
  to: z.string().optional(),
  failedOnly: z.boolean().default(false),
});
export type RangeJob = z.infer<typeof rangeJob>;

/** Each step has a message of its own. */
export function rangeMessage(job: z.input<typeof rangeJob>): Message {
  const work = job.eventId || `${job.tenant} ${job.position}`;
  return { id: `${job.task} ${work} ${job.done ?? ''}`, body: job };
}
