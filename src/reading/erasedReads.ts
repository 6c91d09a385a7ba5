/** Reads of what the read models keep of the past, without what is erased: they are filled again later, or never. */
import { ERASED, type Erasures } from '../domain/erasure.js';
import { orderStream, tableStream } from '../domain/streams.js';
import type { ActivityEntry } from '../ports/activity.js';
import type { EventStore, Revision } from '../ports/eventStore.js';
import type { HistoryEntry, StoredHistoryEntry } from '../ports/orderHistory.js';
import type { TableRef } from '../ports/readModels.js';
import type { ReadModels } from '../ports/readSide.js';

/** @param eventStore whose erasures are left out; none if it has none */
export function withoutErased(models: ReadModels, { erasures }: Pick<EventStore, 'erasures'>): ReadModels {
  if (erasures === undefined) return models;
  return {
    ...models,
    async history(tenant, orderId, ...asked) {
      const page = await models.history(tenant, orderId, ...asked);
      if (erasures.count === 0) return page;
      const isErased = erasures.concernsStream(tenant, orderStream(tenant, orderId));
      const shown = (entry: StoredHistoryEntry): StoredHistoryEntry => {
        const actor = erasures.actor(tenant, entry.actor);
        if (!isErased) return { ...entry, actor };
        const changes = JSON.parse(entry.changes) as HistoryEntry['changes'];
        const whole = entryWithoutErased(erasures, tenant, orderId, { ...entry, actor, changes });
        return { ...whole, changes: JSON.stringify(whole.changes) };
      };
      return { ...page, entries: page.entries.map(shown) };
    },
    async approvals(tenant, ...asked) {
      const approvals = await models.approvals(tenant, ...asked);
      if (erasures.count === 0) return approvals;
      const shown = [...approvals].map(([orderId, entry]) => {
        const actor = erasures.actor(tenant, entry.actor);
        return [orderId, entryWithoutErased(erasures, tenant, orderId, { ...entry, actor })] as const;
      });
      return new Map(shown);
    },
    async activity(tenant, ...asked) {
      const page = await models.activity(tenant, ...asked);
      if (erasures.count === 0) return page;
      return { ...page, entries: page.entries.map((entry) => activityWithoutErased(erasures, tenant, entry)) };
    },
    async cleanedUpRecord(table, id) {
      const kept = await models.cleanedUpRecord(table, id);
      if (kept === undefined) return undefined;
      const place = cleanUpIn(table, kept.revision);
      return { ...kept, fields: erasures.fieldsOf(table.tenant, table.table, id.toLowerCase(), kept.fields, place) };
    },
    async deletedRecords(table, cleanUp, ...asked) {
      const page = await models.deletedRecords(table, cleanUp, ...asked);
      const { tenant, table: name } = table;
      const place = cleanUpIn(table, cleanUp);
      const records = page.records.map((record) => {
        const fields = erasures.fieldsOf(tenant, name, record.id, record.fields, place);
        return fields === record.fields ? record : { ...record, fields };
      });
      return { ...page, records };
    },
  };
}

const cleanUpIn = ({ tenant, table }: TableRef, revision: Revision) => ({
  stream: tableStream(tenant, table),
  revision,
  position: 0,
});

function entryWithoutErased(erasures: Erasures, tenant: string, orderId: string, entry: HistoryEntry): HistoryEntry {
  const stream = orderStream(tenant, orderId);
  if (!erasures.concernsStream(tenant, stream)) return entry;
  const place = { stream, revision: entry.revision, position: entry.position };
  const changes = entry.changes.map(({ table, id, field, from, to }) => {
    const shown = (value: typeof from) =>
      value === null ? null : erasures.valueOf(tenant, table, id, field, value, place);
    return { table, id, field, from: shown(from), to: shown(to) };
  });
  return { ...entry, changes, reasons: erasures.reasonsOf(tenant, orderId, entry.reasons, place) };
}

function activityWithoutErased(erasures: Erasures, tenant: string, entry: ActivityEntry): ActivityEntry {
  const actor = erasures.actor(tenant, entry.actor);
  const { kind, subject, details } = entry;
  if (kind !== 'user.added' || subject === undefined || !erasures.isErasedUser(tenant, subject.id))
    return { ...entry, actor };
  // It names the user whom it added.
  return { ...entry, actor, details: { ...details, name: ERASED } };
}
