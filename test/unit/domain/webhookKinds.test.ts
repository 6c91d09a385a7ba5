import { upcast } from '#app/domain/order/events.js';
import { kindsOf } from '#app/domain/webhook/catalogue.js';

describe('kinds of events (spec §6.5)', () => {
  const moved = { from: 'pending_validation', to: 'saved' };
  const same = { from: 'saved', to: 'saved' };
  test.each([
    ['OrderCreated', 'pending_validation', ['order.created']],
    ['OrderChanged', same, ['order.updated']],
    ['OrderChanged', moved, ['order.updated', 'order.status_changed']],
    ['OrderPartAdded', same, ['order.updated']],
    ['OrderPartAdded', moved, ['order.updated', 'order.status_changed']],
    ['OrderCreatedWithParts', 'pending_validation', ['order.created']],
    ['OrderPartsChanged', moved, ['order.updated', 'order.status_changed']],
    ['PartIdTaken', same, []],
    ['OrderEdited', moved, ['order.status_changed']],
    ['OrderPartChanged', moved, ['order.updated', 'order.status_changed']],
    ['OrderStatusChanged', moved, ['order.status_changed']],
    ['OrderStatusChanged', same, []],
    ['OrderApproved', { from: 'validated', to: 'submitted' }, ['order.status_changed', 'order.approved']],
    ['OrderRejected', { from: 'saved', to: 'rejected' }, ['order.status_changed']],
    ['OrderExportFailed', { from: 'submitted', to: 'failed' }, ['order.status_changed', 'order.export_failed']],
    ['BatchUpserted', undefined, ['reference.batch_upserted']],
    ['TableCleanedUp', undefined, ['reference.cleaned_up']],
    ['RecordCreated', undefined, []],
    ['RecordChanged', undefined, []],
    ['DeliveryRequested', moved, []],
    ['WebhookCreated', undefined, []],
  ])('%s with status %j is %j', (type, status, kinds) => {
    const ofType = /^OrderChanged/.test(type) ? { changes: {} } : /PartsC/.test(type) ? { removed: [] } : {};
    expect(kindsOf(upcast({ type, data: { status, ...ofType } }))).toEqual(kinds);
  });
});
