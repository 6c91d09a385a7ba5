/** What an auditor is told of an event. */
import { activityOf } from '#app/domain/activity.js';
import { eventTypes } from '#app/domain/eventTypes.js';
import { upcast } from '#app/domain/order/events.js';
import { readEvent } from './readEvent.js';

const NOTHING = { created: 0, updated: 0, seen: 0, deleted: 0 };
const ORDER = '0198c1f2-0000-7000-8000-000000000001';
const RECORD = '0198c1f2-0000-7000-8000-000000000002';

const told = (stream: string, type: string, data: unknown, actor = 'client') =>
  activityOf(upcast(readEvent({ stream, type, data, kind: actor })), 'dyn_stock_order', NOTHING);

/** Types of no tenant, that nobody asked for, or that another event tells of. */
const UNTOLD = [
  'LogCreated',
  'OperatorSignedIn',
  'SigningKeyAdded',
  'SigningKeyAdopted',
  'SigningKeysRevoked',
  'SigningKeysResealed',
  'ErasureRecorded',
  'ErasedBytesRemoved',
  'TenantDeleted',
  'RequestAccepted',
  'RequestAnswered',
  'SyncClosed',
  'PartIdTaken',
  'DeliveryAttemptStarted',
  'DeliveryAttemptFailed',
  'DeliverySucceeded',
  'DeliveryFailed',
];

test('every type of event is activity, or is known to be none', () => {
  const data = {
    id: RECORD,
    created: [],
    changed: [],
    seen: '',
    deleted: '',
    added: [],
    removed: [],
    parts: [],
    set: {},
    fields: [],
    changes: {},
    status: { from: 'saved', to: 'validated' },
    assetType: { name: 'dyn_x' },
    field: { name: 'x' },
    userId: 1,
  };
  const streamOf = (type: string): string => {
    if (/^(SignedIn|SignIn|RequestRefused|OrderExported)/.test(type)) return 'access-acme';
    if (/^Order/.test(type)) return `order-acme.${ORDER}`;
    if (/^(Record|Batch|TableCleaned)/.test(type)) return 'table-acme.dyn_item';
    if (/^Sync/.test(type)) return 'sync-acme.dyn_item';
    return /^Delivery/.test(type) ? 'delivery-acme.x' : 'tenant-acme';
  };
  const untold = Object.keys(eventTypes).filter((type) => told(streamOf(type), type, data) === undefined);
  expect(untold.sort()).toEqual([...UNTOLD].sort());
});

test('a delivery is activity if somebody asked for it, not if its event or a backfill caused it', () => {
  const data = { webhookId: 'hook', kind: 'order.approved', orderId: ORDER, purpose: 'resend' };
  expect(told('delivery-acme.x', 'DeliveryRequested', data, 'user')).toEqual({
    kind: 'delivery.requested',
    subject: { kind: 'webhook', id: 'hook' },
    orderId: ORDER,
    details: { purpose: 'resend', event: 'order.approved' },
  });
  expect(told('delivery-acme.x', 'DeliveryRequested', data, 'system')).toBeUndefined();
});
