/** Tables of records, which get and list read. */

import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import { TENANT_STREAM_PREFIX, type Tenant } from '../domain/identity/directory.js';
import type { TenantEvent } from '../domain/identity/events.js';
import type { Changes, OrderEvent, PartsChange } from '../domain/order/events.js';
import { checkChange, type RecordChange, tableChanges } from '../domain/referenceTable/changes.js';
import type { ReferenceTableEvent } from '../domain/referenceTable/events.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { Projection, ProjectionTarget } from '../ports/projection.js';
import type { AppliedEvent } from '../ports/readModelWriter.js';

export const recordsProjection: Projection = {
  name: 'records',
  version: 2,
  streamPrefixes: [TENANT_STREAM_PREFIX, STREAM_PREFIXES.table, STREAM_PREFIXES.order],
  async apply(event, tenant, target) {
    const { category, rest } = parseStream(event.stream);
    const typed = { type: event.type, data: event.data };
    const { revision, position, metadata } = event;
    const at = metadata.occurredAt;
    const applied = { revision, at, position };
    const change = async (table: string, changes: readonly RecordChange[], of: AppliedEvent): Promise<void> => {
      changes.forEach(checkChange);
      // Another release may have created the table. Costs nothing if it is up to date.
      await define(table, tenant, target);
      await target.applyToTable({ tenant: tenant.name, table }, changes, of);
    };
    if (category === 'tenant') await defineTables(typed as TenantEvent, tenant, target);
    else if (category === 'table') {
      await change(rest, tableChanges(typed as ReferenceTableEvent, at), { ...applied, noted: revision });
    } else if (category === 'order') {
      for (const each of orderChanges(typed as OrderEvent, tenant.orderModel, rest, at)) {
        const isPart = each.table !== tenant.orderModel;
        await change(each.table, each.changes, isPart ? { ...applied, noted: { order: rest } } : applied);
      }
    }
  },
};

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
    case 'RateLimitRemoved':
    case 'CleanUpGuardChanged':
    case 'QuotasChanged':
    case 'DataErased':
      return [];
  }
}

const newValues = (changes: Changes): Fields =>
  Object.fromEntries(Object.entries(changes).map(([field, { to }]) => [field, to]));

type TableChanges = { readonly table: string; readonly changes: readonly RecordChange[] };

/** Grouped by table, because each write to a table records its revision. */
function partChanges(
  { added = [], changed = [], removed = [] }: Partial<PartsChange>,
  at: string,
): readonly TableChanges[] {
  const tables = new Map<string, RecordChange[]>();
  const add = (table: string, change: RecordChange): void => {
    const changes = tables.get(table);
    if (changes === undefined) tables.set(table, [change]);
    else changes.push(change);
  };
  for (const { table, id } of removed) add(table, { kind: 'delete', id });
  for (const { table, id, changes } of changed) add(table, { kind: 'patch', id, at, set: newValues(changes) });
  for (const { table, id, fields } of added) add(table, { kind: 'insert', id, at, batchId: null, fields });
  return [...tables].map(([table, changes]) => ({ table, changes }));
}

/** Changes by an order's event: to the order's own record and those of its parts. */
function orderChanges(event: OrderEvent, orderModel: string, orderId: string, at: string): readonly TableChanges[] {
  if (event.type === 'OrderCreated' || event.type === 'OrderCreatedWithParts') {
    const { table, fields, status } = event.data;
    const all = { ...fields, processing_status: status };
    const created: TableChanges = { table, changes: [{ kind: 'insert', id: orderId, at, batchId: null, fields: all }] };
    return event.type === 'OrderCreated' ? [created] : [created, ...partChanges({ added: event.data.parts }, at)];
  }
  const { from, to } = event.data.status;
  const withStatus = (set: Fields) => ({
    table: orderModel,
    changes: [{ kind: 'patch' as const, id: orderId, at, set: { ...set, processing_status: to } }],
  });
  const statusOnly = from === to ? [] : [withStatus({})];
  switch (event.type) {
    case 'OrderChanged':
      return [withStatus(newValues(event.data.changes))];
    case 'OrderPartAdded':
      return [...partChanges({ added: [event.data] }, at), ...statusOnly];
    case 'OrderPartChanged':
      return [...partChanges({ changed: [event.data] }, at), ...statusOnly];
    case 'OrderPartsChanged':
      return [...partChanges(event.data, at), withStatus({})];
    case 'OrderStatusChanged':
      return [withStatus({ error_reason: event.data.errorReason })];
    case 'OrderApproved':
      return [
        withStatus({ approved_at: event.data.approvedAt, approved_by: event.data.approver.id, error_reason: null }),
      ];
    case 'OrderExportHeld':
      return [];
    case 'OrderRejected':
    case 'OrderExportFailed':
    case 'OrderExportDelivered':
      return [withStatus({ error_reason: event.data.reasons.length > 0 ? event.data.reasons : null })];
  }
}
