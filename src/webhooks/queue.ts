/** What the relay tells the subscribers: only which delivery is due, for everything else is in the log. */
import { z } from 'zod';

export const DELIVERY_QUEUE = 'webhook-deliveries';

export const deliveryJob = z.object({ tenant: z.string(), deliveryId: z.string() });
export type DeliveryJob = z.infer<typeof deliveryJob>;
