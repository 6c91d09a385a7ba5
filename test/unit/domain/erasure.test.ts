/** What stands in the place of an erased value, also when it is erased once more. That no answer has it is tried over HTTP. */

import { erasedValue } from '#app/cli/erasures.js';
import { ERASED } from '#app/domain/assetTypes/fieldTypes.js';
import { Erasures } from '#app/domain/erasure.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { readEvent } from './readEvent.js';

test.each([
  ['dyn_party', 'name', ERASED],
  ['dyn_party', 'city_name', null],
  ['dyn_party', 'external_id', 'mark'],
  ['dyn_order_line', 'quantity', 0],
  ['dyn_order_line', 'order_id', undefined],
  ['dyn_stock_order', 'approved_by', undefined],
  ['dyn_stock_order', 'processing_status', undefined],
  ['dyn_stock_order', 'nothing', undefined],
])('%s.%s becomes %p', (table, field, value) => {
  const assetType = standardTables('dyn_stock_order').get(table);
  expect(assetType && erasedValue(assetType, field, 'mark')).toBe(value);
});

const [tenant, id, stream] = ['acme', '0198c1f2-0000-7000-8000-000000000001', 'table-acme.dyn_party'];

test.each([
  ['before both', 2, 'erased-1'],
  ['between them', 4, 'erased-2'],
  ['behind both', 9, 'K1'],
])('a unique key that was written %s: the mark of the first erasure behind it', (_when, revision, shown) => {
  const erasures = new Erasures();
  const about = { tenant, table: 'dyn_party', id, stream };
  erasures.add({ data: { ...about, until: 3, fields: { external_id: 'erased-1' } } }, 100);
  erasures.add({ data: { ...about, until: 8, fields: { external_id: 'erased-2' } } }, 101);
  const position = revision < 9 ? 1 : 200;
  const set = { external_id: 'K1' };
  const { data } = erasures.redact(readEvent({ stream, revision, position, type: 'RecordChanged', data: { id, set } }));
  expect(data).toEqual({ id, set: { external_id: shown } });
});

test('a sign-in of an erased user says no longer from where', () => {
  const erasures = new Erasures();
  erasures.add({ data: { tenant, userId: 7 } }, 100);
  const signIn = (userId: number) =>
    erasures.redact(
      readEvent({
        stream: 'session-acme.s',
        type: 'SignedIn',
        data: { userId, sessionId: 's', network: '192.0.2.1', userAgent: 'Firefox' },
      }),
    ).data;
  expect(signIn(7)).toEqual({ userId: 7, sessionId: 's', network: ERASED, userAgent: ERASED });
  expect(signIn(8)).toMatchObject({ network: '192.0.2.1', userAgent: 'Firefox' });
});

const [order, status] = ['0198c1f2-0000-7000-8000-000000000003', { from: 'saved', to: 'saved' }];
const snapshot = { table: 'dyn_stock_order', order: { id: order }, parts: [], related: {} };

test.each([
  ['OrderStatusChanged', { status, errorReason: ['Eva moved'] }, { status, errorReason: null }],
  ['OrderRejected', { status, reasons: ['Eva moved'] }, { status, reasons: [] }],
  ['OrderExportFailed', { status, reasons: ['Eva moved'] }, { status, reasons: [] }],
  [
    'OrderApproved',
    { snapshot, approver: { id: 7 }, override: { reason: 'Eva insists', problems: [] } },
    { snapshot, approver: { id: 7 }, override: { reason: ERASED, problems: [] } },
  ],
])('%s without its erased reasons is as an erasure leaves it, and known to be concerned', (type, data, shown) => {
  const erasures = new Erasures();
  const ofOrder = `order-acme.${order}`;
  const fields = { error_reason: null };
  erasures.add({ data: { tenant, table: 'dyn_stock_order', id: order, stream: ofOrder, until: 9, fields } }, 100);
  const redacted = erasures.redact(readEvent({ stream: ofOrder, revision: 3, type, data }));
  expect(redacted.data).toEqual(shown);
  const again = erasures.redaction(redacted);
  expect(again.concerned).toBe(true);
  expect(again.event).toBe(redacted);
});
