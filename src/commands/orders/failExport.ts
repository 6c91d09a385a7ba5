import { failExport as decide } from '../../domain/order/decide.js';
import type { Caller, Commands } from '../context.js';
import { writeOrder } from './orderWriter.js';

/**
 * An export has failed for good (spec §3, §6.4): the order goes to `failed`, with the reasons. Does nothing
 * when the order has moved on since that approval, so it may be called again after a crash.
 */
export async function failExport(
  commands: Commands,
  caller: Caller,
  failure: {
    readonly orderId: string;
    readonly approvalEventId: string;
    readonly reasons: readonly string[];
    readonly webhookId: string;
    readonly deliveryId: string;
  },
): Promise<void> {
  await writeOrder(commands, caller, failure.orderId, (order) => decide(order, failure));
}
