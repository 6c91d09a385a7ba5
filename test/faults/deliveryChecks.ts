/** Rules of deliveries that hold after every kill: the log and what the receiver got are compared. */
import type { DeliveryLedger, Due, LoggedDelivery } from './deliveryLedger.js';
import { isAnswered, type SeenCall } from './unreliableReceiver.js';

const MAX_ATTEMPTS = 5;
/** The most violations that are printed. */
const SHOWN = 2;

/** The calls of each delivery as the receiver saw them. */
function byDelivery(calls: readonly SeenCall[]): Map<string, SeenCall[]> {
  const seen = new Map<string, SeenCall[]>();
  for (const call of calls) seen.set(call.deliveryId, [...(seen.get(call.deliveryId) ?? []), call]);
  return seen;
}

/** Each thing that is due led to one delivery, which was answered, or was attempted exactly five times. */
export function checkOutcomes(ledger: DeliveryLedger, calls: readonly SeenCall[]): void {
  const seen = byDelivery(calls);
  const wrong: unknown[] = [];
  for (const delivery of ledger.deliveries.values()) {
    const { id, started, failed, ended } = delivery;
    const called = seen.get(id) ?? [];
    const due = ledger.due.get(delivery.due);
    const ok =
      delivery.purpose === undefined &&
      // An attempt is recorded before its call: none that the receiver saw is missing in the log.
      called.length <= started.length &&
      started.length <= MAX_ATTEMPTS &&
      called.every((call) => isOf(call, due)) &&
      new Set(called.map(({ bodyHash }) => bodyHash)).size <= 1 &&
      (ended?.type === 'DeliverySucceeded'
        ? called.some(isAnswered)
        : started.length === MAX_ATTEMPTS && failed.length === MAX_ATTEMPTS);
    if (!ok) wrong.push({ delivery, due, called });
  }
  expect(wrong.slice(0, SHOWN)).toEqual([]);
  expect([...seen.keys()].filter((id) => !ledger.deliveries.has(id))).toEqual([]);
  expect([...ledger.deliveries.values()].map(({ due }) => due).sort()).toEqual([...ledger.due.keys()].sort());
}

const isOf = (call: SeenCall, due: Due | undefined): boolean =>
  due !== undefined &&
  call.path === due.path &&
  call.kind === due.kind &&
  call.sequence === due.sourceRevision &&
  call.orderId === due.orderId;

/** A webhook gets the deliveries of one order in order: the next begins when the one before has ended. */
export function checkOrder(ledger: DeliveryLedger, calls: readonly SeenCall[]): void {
  const byDue = new Map([...ledger.deliveries.values()].map((delivery) => [delivery.due, delivery]));
  const places = new Map<string, { first: number; last: number }>();
  for (const [index, { deliveryId }] of calls.entries()) {
    places.set(deliveryId, { first: places.get(deliveryId)?.first ?? index, last: index });
  }
  const before = new Map<string, LoggedDelivery>();
  const wrong: unknown[] = [];
  for (const [key, { webhookId, orderId }] of ledger.due) {
    const next = byDue.get(key);
    if (next === undefined) continue;
    const previous = before.get(`${webhookId} ${orderId}`);
    before.set(`${webhookId} ${orderId}`, next);
    if (previous === undefined) continue;
    const [begun = 0] = next.started;
    const inLog = previous.ended !== undefined && begun > previous.ended.position;
    const [earlier, later] = [places.get(previous.id), places.get(next.id)];
    const asSeen = earlier === undefined || later === undefined || earlier.last < later.first;
    if (!inLog || !asSeen) wrong.push({ previous, next, earlier, later });
  }
  expect(wrong.slice(0, SHOWN)).toEqual([]);
}
