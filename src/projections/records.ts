/** Tables of records: what get and list answer from. */

import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import { TENANT_STREAM_PREFIX, type Tenant } from '../domain/identity/directory.js';
import type { TenantEvent } from '../domain/identity/events.js';
import type { Changes, OrderEvent } from '../domain/order/events.js';
import { checkChange, type RecordChange, tableChanges } from '../domain/referenceTable/changes.js';
import type { BatchUpserted, ReferenceTableEvent, TableCleanedUp } from '../domain/referenceTable/events.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { Projection, ProjectionTarget } from './projection.js';

export const recordsProjection: Projection = {
  name: 'records',
  version: 1,
  streamPrefixes: [TENANT_STREAM_PREFIX, STREAM_PREFIXES.table, STREAM_PREFIXES.order],
  async apply(event, tenant, target) {
    const { category, rest } = parseStream(event.stream);
    const typed = { type: event.type, data: event.data };
    const { revision, position, metadata } = event;
    const at = metadata.occurredAt;
    const change = async (table: string, changes: readonly RecordChange[]): Promise<void> => {
      changes.forEach(checkChange);
      // Another release may have made the table; where it is as it is to be, this costs nothing.
      await define(table, tenant, target);
      await target.applyToTable({ tenant: tenant.name, table }, changes, { revision, at, position });
    };
    if (category === 'tenant') await defineTables(typed as TenantEvent, tenant, target);
    else if (category === 'table') await change(rest, tableChanges(typed as ReferenceTableEvent, at));
    else if (category === 'order') {
      for (const each of orderChanges(typed as OrderEvent, tenant.orderModel, rest, at)) {
        await change(each.table, [each.change]);
      }
    }
  },
};

const PACKED_ID_LENGTH = 64 / 3;

/** About how many records an event changes or deletes. Whether it can be applied shows when it is. */
export function changesOf({ stream, type, data }: RecordedEvent): number {
  if (parseStream(stream).category !== 'table') return 1;
  const said = (data ?? {}) as Partial<BatchUpserted['data'] & TableCleanedUp['data']>;
  const { created, changed, seen, deleted } = said;
  if (type === 'TableCleanedUp') return Number.isSafeInteger(deleted) ? Number(deleted) || 1 : 1;
  if (type !== 'BatchUpserted') return 1;
  const count = (created?.length ?? 0) + (changed?.length ?? 0) + Math.round((seen?.length ?? 0) / PACKED_ID_LENGTH);
  return count || 1;
}

async function defineTables(event: TenantEvent, tenant: Tenant, target: ProjectionTarget): Promise<void> {
  if (event.type === 'TenantDeleted') return target.dropTenant('records', tenant.name);
  for (const table of tablesChangedBy(event, tenant)) await define(table, tenant, target);
}

async function define(table: string, tenant: Tenant, target: Pick<ProjectionTarget, 'defineTable'>): Promise<void> {
  const assetType = tenant.assetTypes.get(table);
  if (assetType !== undefined) await target.defineTable({ tenant: tenant.name, table }, assetType);
}

function tablesChangedBy(event: Exclude<TenantEvent, { type: 'TenantDeleted' }>, tenant: Tenant): readonly string[] {
  switch (event.type) {
    case 'TenantCreated':
      return [...tenant.assetTypes.keys()];
    case 'AssetTableAdded':
      return [event.data.assetType.name];
    case 'AssetFieldAdded':
      return [event.data.table];
    case 'RateLimitChanged':
    case 'CleanUpGuardChanged':
      return [];
  }
}

const newValues = (changes: Changes): Fields =>
  Object.fromEntries(Object.entries(changes).map(([field, { to }]) => [field, to]));

/** What an event of an order changes: the order's own record, and those of its parts. */
function orderChanges(
  event: OrderEvent,
  orderModel: string,
  orderId: string,
  at: string,
): readonly { readonly table: string; readonly change: RecordChange }[] {
  if (event.type === 'OrderCreated') {
    const { table, fields, status } = event.data;
    const all = { ...fields, processing_status: status };
    return [{ table, change: { kind: 'insert', id: orderId, at, batchId: null, fields: all } }];
  }
  const { from, to } = event.data.status;
  const withStatus = (set: Fields) => ({
    table: orderModel,
    change: { kind: 'patch' as const, id: orderId, at, set: { ...set, processing_status: to } },
  });
  const statusOnly = from === to ? [] : [withStatus({})];
  switch (event.type) {
    case 'OrderChanged':
      return [withStatus(newValues(event.data.changes))];
    case 'OrderPartAdded': {
      const { table, id, fields } = event.data;
      return [{ table, change: { kind: 'insert', id, at, batchId: null, fields } }, ...statusOnly];
    }
    case 'OrderPartChanged': {
      const { table, id, changes } = event.data;
      return [{ table, change: { kind: 'patch', id, at, set: newValues(changes) } }, ...statusOnly];
    }
    case 'OrderStatusChanged':
      return [withStatus({ error_reason: event.data.errorReason })];
    case 'OrderApproved':
      return [
        withStatus({ approved_at: event.data.approvedAt, approved_by: event.data.approver.id, error_reason: null }),
      ];
    case 'OrderRejected':
    case 'OrderExportFailed':
      return [withStatus({ error_reason: event.data.reasons.length > 0 ? event.data.reasons : null })];
  }
}
