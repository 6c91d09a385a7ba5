/** Rows of a few tenants, written as tests name them: changes of tables, entries of the activity, deliveries. */
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import { keyOf, type Row } from '#app/domain/row.js';
import { ACTIVITY, DELIVERIES, SERVICE_SPACES } from '#app/domain/spaces.js';
import type { RowWrite, RowWriter } from '#app/ports/rowStore.js';
import type { ActivityEntry } from '#app/queries/activity.js';
import type { DeliveryLogEntry } from '#app/queries/deliveries.js';
import type { TableRef } from '#app/queries/records.js';

type Written = {
  readonly writes: RowWrite[];
  readonly rows: Map<string, Row>;
  readonly tables: Map<string, AssetType>;
  readonly webhooks: Map<string, true>;
};

export class WrittenRows {
  readonly #writer: RowWriter;
  readonly #tenants = new Map<string, Written>();
  /** Of the next commit. */
  position = 1;

  constructor(writer: RowWriter) {
    this.#writer = writer;
  }

  tenant(name: string) {
    const known = this.#tenants.get(name);
    return (
      known && ({ name, orderModel: 'dyn_stock_order', assetTypes: known.tables, webhooks: known.webhooks } as const)
    );
  }

  /** As a directory knows them. */
  *tenants() {
    for (const [name, { webhooks }] of this.#tenants) yield { name, webhooks };
  }

  async begin(): Promise<void> {
    for (const { writes } of this.#tenants.values()) writes.length = 0;
  }

  async commit(): Promise<void> {
    for (const [tenant, { writes }] of this.#tenants) {
      // Clean-ups come first in their slice.
      const slices = writes.length === 0 ? [] : cutAtCleanUps(writes);
      for (const slice of slices) {
        while (!(await this.#writer.apply(tenant, { position: this.position, writes: slice })));
        this.position += 1;
      }
    }
    this.position += 1;
  }

  async defineTable({ tenant }: TableRef, assetType: AssetType): Promise<void> {
    const { tables, writes } = this.#of(tenant);
    tables.set(assetType.name, assetType);
    writes.push({ kind: 'define', assetType });
  }

  async applyToTable(
    { tenant, table }: TableRef,
    changes: readonly RecordChange[],
    { revision, at }: { readonly revision: number; readonly at: string },
  ): Promise<void> {
    for (const change of changes) this.#change(tenant, table, change);
    this.#of(tenant).writes.push({ kind: 'end', space: table, revision, at });
  }

  #change(tenant: string, space: string, change: RecordChange): void {
    const { writes, rows, tables } = this.#of(tenant);
    const place = (id: string) => `${space} ${id}`;
    const known = (id: string): Row => {
      const row = rows.get(place(id));
      if (row === undefined) throw new Error(`There is no record ${id}.`);
      return row;
    };
    const put = (row: Row, was?: Row) => {
      rows.set(place(row.id), row);
      writes.push({ kind: 'put', space, row, was });
    };
    const assetType = tables.get(space);
    if (assetType === undefined) throw new Error(`There is no table ${space}.`);
    switch (change.kind) {
      case 'insert': {
        const { id, at, batchId: batch } = change;
        const fields = withoutNulls(change.fields);
        put({ id, key: keyOf(assetType, fields), from: this.position, created: at, updated: at, batch, fields });
        return;
      }
      case 'patch': {
        const was = known(change.id);
        const fields = withoutNulls({ ...was.fields, ...change.set });
        const { at: updated, batchId: batch = was.batch } = change;
        put({ ...was, key: keyOf(assetType, fields), from: this.position, updated, batch, fields }, was);
        return;
      }
      case 'delete':
        writes.push({ kind: 'delete', space, was: known(change.id), to: this.position });
        rows.delete(place(change.id));
        return;
      case 'seen':
        for (const id of change.ids) rows.set(place(id), { ...known(id), batch: change.batchId });
        writes.push({ kind: 'touch', space, ids: change.ids, batch: change.batchId });
        return;
      case 'cleanUp':
        for (const [key, { batch }] of rows)
          if (key.startsWith(`${space} `) && batch !== change.batchId) rows.delete(key);
        writes.push({ kind: 'cleanUp', space, batch: change.batchId, to: this.position });
        return;
    }
  }

  async addActivity(tenant: string, entries: readonly ActivityEntry[]): Promise<void> {
    for (const entry of entries) {
      const { eventId, at, position, revision, kind, table, orderId, subject, actor, correlationId, causationId } =
        entry;
      this.#put(tenant, ACTIVITY, eventId, at, {
        position,
        revision,
        kind,
        table: table ?? null,
        order_id: orderId ?? null,
        subject_kind: subject?.kind ?? null,
        subject_id: subject?.id ?? null,
        actor_kind: actor.kind,
        actor_id: actor.id,
        actor_name: actor.name ?? null,
        correlation_id: correlationId,
        causation_id: causationId,
        request: jsonOf(entry.request),
        counts: jsonOf(entry.counts),
        fields: jsonOf(entry.fields),
        details: jsonOf(entry.details),
      });
    }
  }

  async putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void> {
    this.#of(tenant).webhooks.set(entry.webhookId, true);
    this.#put(tenant, DELIVERIES, entry.id, entry.requestedAt, {
      webhook_id: entry.webhookId,
      message_id: entry.messageId,
      kind: entry.kind,
      purpose: entry.purpose,
      order_id: entry.orderId,
      table: entry.table,
      sequence: entry.sequence,
      revision: entry.revision,
      position: entry.position,
      state: entry.state,
      ended_at: entry.endedAt,
      reason: entry.reason,
      retry_at: entry.retryAt,
      attempts: JSON.stringify(Object.fromEntries(entry.attempts.map((each) => [each.attempt, each]))),
    });
  }

  #put(tenant: string, { name: space }: AssetType, id: string, at: string, fields: Fields): void {
    const row = { id, key: null, from: this.position, created: at, updated: at, batch: null };
    this.#of(tenant).writes.push({ kind: 'put', space, row: { ...row, fields: withoutNulls(fields) } });
  }

  #of(tenant: string): Written {
    let known = this.#tenants.get(tenant);
    if (known === undefined) {
      const writes = [...SERVICE_SPACES.values()].map((assetType): RowWrite => ({ kind: 'define', assetType }));
      known = { writes, rows: new Map(), tables: new Map(), webhooks: new Map() };
      this.#tenants.set(tenant, known);
    }
    return known;
  }
}

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

function cutAtCleanUps(writes: readonly RowWrite[]): readonly (readonly RowWrite[])[] {
  const slices: RowWrite[][] = [[]];
  for (const write of writes) {
    if (write.kind === 'cleanUp') slices.push([]);
    slices.at(-1)?.push(write);
  }
  return slices.filter((slice) => slice.length > 0);
}
