/** Bodies of webhook calls (spec §6.1), made from the log anew for each attempt. */
import type { Commands } from '../commands/context.js';
import { exportSnapshot } from '../commands/orders/exportSnapshot.js';
import { orderFromEvents } from '../commands/orders/orderWriter.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import type { OrderApproved } from '../domain/order/events.js';
import { type ExportDocument, exportDocument, orderDocument } from '../domain/order/exportDocument.js';
import type { BatchUpserted, TableCleanedUp } from '../domain/referenceTable/events.js';
import { unpackIds } from '../domain/referenceTable/events.js';
import { orderStream, tableStream } from '../domain/streams.js';
import { batchUpsertedBody, cleanedUpBody, orderBody, type TableEvent } from '../domain/webhook/catalogue/body.js';
import { exampleBody } from '../domain/webhook/catalogue/example.js';
import type { DeliverySubject } from '../domain/webhook/events.js';
import type { RecordedEvent } from '../ports/eventStore.js';

/**
 * The body of a call as UTF-8 JSON. Of an approval it is the same bytes at each attempt and in each replay; of other
 * order kinds the order is as it was then, and the reference records that it names are as they are now. A test has the
 * catalogue's example.
 * @throws Error when the log does not hold the event that the delivery tells of
 */
export async function payloadOf(
  commands: Commands,
  tenant: Tenant,
  webhook: Webhook,
  subject: DeliverySubject,
): Promise<Uint8Array> {
  return Buffer.from(JSON.stringify(await bodyOf(commands, tenant, webhook, subject)), 'utf8');
}

async function bodyOf(
  commands: Commands,
  tenant: Tenant,
  { customData }: Webhook,
  subject: DeliverySubject,
): Promise<object> {
  if (subject.purpose === 'test') return exampleBody(subject.kind, tenant, customData);
  switch (subject.kind) {
    case 'order.approved':
      return orderBody(await approvedOrder(commands, tenant, subject), customData);
    case 'reference.batch_upserted': {
      const [source, data] = await tableEvent<BatchUpserted>(commands, tenant, subject, 'BatchUpserted');
      const counts = {
        created: data.created.length,
        updated: data.changed.length,
        unchanged: unpackIds(data.seen).length,
      };
      return batchUpsertedBody(source, data.batchId ?? null, counts, customData);
    }
    case 'reference.cleaned_up': {
      const [source, data] = await tableEvent<TableCleanedUp>(commands, tenant, subject, 'TableCleanedUp');
      return cleanedUpBody(source, data.batchId, data.deleted, customData);
    }
    default:
      return orderBody(await orderThen(commands, tenant, subject), customData);
  }
}

/** Made from what was approved, not from what the order has become since. */
async function approvedOrder(commands: Commands, tenant: Tenant, subject: DeliverySubject): Promise<ExportDocument> {
  const { orderId, sourceRevision } = subject;
  const stream = orderStream(tenant.name, orderId);
  const [event] = await commands.eventStore.readStream(stream, sourceRevision, sourceRevision);
  const { snapshot, ...approval } = sourceData<OrderApproved>(event, 'OrderApproved', stream, subject);
  return exportDocument(snapshot, approval, tenant.assetTypes);
}

/** The order as it was after the event. */
async function orderThen(commands: Commands, tenant: Tenant, subject: DeliverySubject): Promise<ExportDocument> {
  const { orderId, sourceEventId, sourceRevision } = subject;
  const stream = orderStream(tenant.name, orderId);
  const events = await commands.eventStore.readStream(stream, 0, sourceRevision);
  const order = orderFromEvents(events);
  const last = events.at(-1);
  if (order === undefined || last?.id !== sourceEventId || last.revision !== sourceRevision) {
    throw missing(stream, subject);
  }
  const approval = events.findLast(({ type }) => type === 'OrderApproved')?.data as OrderApproved['data'] | undefined;
  const snapshot = await exportSnapshot(commands, tenant.name, orderId, order);
  return orderDocument(snapshot, approval, tenant.assetTypes);
}

type SourceEvent = { readonly type: string; readonly data: unknown };

async function tableEvent<E extends SourceEvent>(
  commands: Commands,
  tenant: Tenant,
  subject: DeliverySubject,
  type: E['type'],
): Promise<[TableEvent, E['data']]> {
  const { table = '', sourceRevision: revision } = subject;
  const stream = tableStream(tenant.name, table);
  const [event] = await commands.eventStore.readStream(stream, revision, revision);
  const data = sourceData<E>(event, type, stream, subject);
  return [{ table, revision, occurredAt: event?.metadata.occurredAt ?? '' }, data];
}

/** @throws Error when it is not the event of this type that the delivery tells of */
function sourceData<E extends SourceEvent>(
  event: RecordedEvent | undefined,
  type: E['type'],
  stream: string,
  subject: DeliverySubject,
): E['data'] {
  if (event?.id !== subject.sourceEventId || event.type !== type) throw missing(stream, subject);
  return event.data;
}

const missing = (stream: string, { kind, sourceEventId, sourceRevision }: DeliverySubject): Error =>
  new Error(`${stream} has no event ${sourceEventId} of ${kind} at revision ${sourceRevision}.`);
