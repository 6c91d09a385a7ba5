/** The messages that relay, deliveries and ranges exchange through the broker. */
import { z } from 'zod';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/catalogue.js';
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
export const deliveryMessage = (job: NamedDelivery, id: string = job.deliveryId): Message => ({ id, body: job });

/** Work on many deliveries of one tenant, in steps through a range of the log. */
export const BACKFILL_QUEUE = 'webhook-backfills';

/** `position` is the end of the range; what requested the work is there or before. */
const range = { tenant: z.string(), position: z.number() };
/** How far the work has come: the log is read up to `done`, and the last requested delivery is at `requested`, or 0. */
const progress = { done: z.number(), requested: z.number() };
const ofWebhook = { webhookId: z.string(), eventId: z.string() };

export const rangeJob = z.discriminatedUnion('task', [
  /** The relay left these events of the tenant out, as they have too many deliveries. */
  z.object({ task: z.literal('relay'), ...range, ...progress }),
  /** The log lacks what was relayed: what it lacks is requested, and each open delivery is due. */
  z.object({ task: z.literal('again'), ...range, ...progress }),
  /**
   * The webhook was enabled at the end of the range: open deliveries are due, and then what it missed is requested. Without
   * progress until the first is done.
   */
  z.object({ task: z.literal('resume'), ...range, ...ofWebhook, ...z.object(progress).partial().shape }),
  /** The range is sent to the webhook. */
  z.object({
    task: z.literal('backfill'),
    ...range,
    ...ofWebhook,
    ...progress,
    correlationId: z.string(),
    backfillId: z.string(),
    kinds: z.array(z.enum(WEBHOOK_EVENT_KINDS)),
    from: z.string(),
    to: z.string().optional(),
  }),
]);
export type RangeJob = z.infer<typeof rangeJob>;

/** Each step has a message of its own. */
export function rangeMessage(job: RangeJob): Message {
  let id = `${job.task} ${job.tenant} ${job.position}`;
  if (job.task === 'backfill') id = job.backfillId;
  if (job.task === 'resume') id = job.eventId;
  return { id: job.done === undefined || job.done === 0 ? id : `${id} ${job.done}`, body: job };
}
