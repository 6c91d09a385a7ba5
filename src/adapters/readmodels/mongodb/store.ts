/** The read side of the read models on MongoDB. */
import { ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { MAX_DIFFERENCE_CHARACTERS } from '../../../domain/limits.js';
import type { StoredRecord, TableRef } from '../../../ports/readModels.js';
import type { ReadModels } from '../../../ports/readSide.js';
import { mapWithPauses } from '../../../supervision/waiting.js';
import { activityPage } from '../shared/activity.js';
import { AnswerSize } from '../shared/answerSize.js';
import { APPROVED, lastApprovals, storedId } from '../shared/recordText.js';
import { readActivity } from './activity.js';
import {
  activityOf,
  type CatalogEntry,
  figuresOf,
  historyOf,
  placeOf,
  positionOf,
  readState,
  recordsEntryId,
  tenantEntryId,
} from './catalog.js';
import { CheckpointPoll } from './checkpointPoll.js';
import { cleanedUpIn, cleanedUpRecord, deletedRecords, formerIds } from './cleanedUpRecords.js';
import { type DatabaseLocation, MongoConnection, whileWanted } from './connection.js';
import { deliveryReads } from './deliveries.js';
import { filterOf, type RecordFilter } from './filters.js';
import { readHistory } from './history.js';
import { listRecords, recordsBehind } from './lists.js';
import { parkedOf } from './parked.js';
import { recordJson, storedRecord, WHOLE_RECORD, type WholeRecord } from './recordDocument.js';
import { readOrderOfPart, readRecordEvents, recordEventsIn } from './recordEvents.js';
import { type ReadTable, readByIds, readCleanedUpIds, TableReader } from './tableReader.js';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Values in one query. */
const VALUES_AT_ONCE = 200;

const NO_IDS: ReadonlyMap<string, string> = new Map();

/** Opens the read side. The server need not be reachable: each use connects when needed. */
export async function openMongoReadModels({
  timeoutMs = DEFAULT_TIMEOUT_MS,
  wholeCommitsMs,
  ...place
}: DatabaseLocation & {
  /** Reads without an answer end after so long. Default 30,000 ms. */
  readonly timeoutMs?: number;
  /** A reader waits so long for a moment between two commits; then it reads nevertheless. Default 150 ms. */
  readonly wholeCommitsMs?: number;
}): Promise<ReadModels> {
  const connection = new MongoConnection({ ...place, socketTimeoutMs: timeoutMs });
  const tables = new TableReader(connection, wholeCommitsMs);
  const state = () => connection.run(readState);
  const poll = new CheckpointPoll(state);
  const read = <Result>(table: TableRef, work: (opened: ReadTable) => Promise<Result>) =>
    tables.read(recordsEntryId(table), work);

  return {
    async get(table, id, order) {
      const _id = storedId(id);
      if (_id === undefined) return undefined;
      const found = await tables.read(
        recordsEntryId(table),
        async ({ records, text }) => {
          const record = await records.findOne<WholeRecord>({ _id }, { projection: WHOLE_RECORD });
          return record === null ? undefined : recordJson(text, record, order);
        },
        (record) => record !== undefined,
      );
      return found?.result;
    },

    async list(table, query, cancellation) {
      const page = await read(table, (opened) => listRecords(opened, query, whileWanted(cancellation)));
      return page?.result ?? { records: '', total: 0 };
    },

    // A list is not read in one snapshot, so it has no state of its own.
    tableState: async () => undefined,

    async counts(table, field, values, cancellation) {
      const wanted = whileWanted(cancellation);
      const found = await read(table, async ({ records, layout }) => {
        const counts: number[] = [];
        for (const value of values) {
          const filter = filterOf([{ kind: 'equals', field, anyOf: [value] }], layout);
          counts.push(filter === undefined ? 0 : await records.countDocuments(filter, wanted));
        }
        return counts;
      });
      return found?.result ?? values.map(() => 0);
    },

    tableFigures: (asked) => connection.run((db) => figuresOf(db, asked)),

    async listBehind(table, query, cancellation) {
      const page = await read(table, (opened) => recordsBehind(opened, query, whileWanted(cancellation)));
      return page?.result ?? { records: '' };
    },

    async byIds(table, ids, cancellation) {
      const wanted = whileWanted(cancellation);
      const found = await read(table, (opened) =>
        readByIds(
          opened,
          ids.map((id) => id.toLowerCase()),
          wanted,
        ),
      );
      return { revision: readAt(found).revision, records: found?.result ?? ids.map(() => null) };
    },

    async cleanedUpIds(table, cleanUp, page, cancellation) {
      const found = await read(table, (opened) => readCleanedUpIds(opened, cleanUp, page, whileWanted(cancellation)));
      return found?.result ?? [];
    },

    async recordEvents(table, id, page, cancellation) {
      const found = await read(table, async ({ db, entry }) =>
        entry.events ? readRecordEvents(recordEventsIn(db, entry.events), id, page, whileWanted(cancellation)) : [],
      );
      return found?.result ?? [];
    },

    async orderOfPart(table, id) {
      const found = await read(table, async ({ db, entry }) =>
        entry.events ? readOrderOfPart(recordEventsIn(db, entry.events), id) : undefined,
      );
      return found?.result;
    },

    async cleanedUpRecord(table, id) {
      const found = await read(table, async ({ db, entry, text }) =>
        entry.swept ? cleanedUpRecord(cleanedUpIn(db, entry.swept), text, id) : undefined,
      );
      return found?.result;
    },

    async snapshot(table, { keys, ids }) {
      const storedIds = ids.flatMap((id) => storedId(id) ?? []);
      const found = await read(table, async (opened) => {
        const named: RecordFilter[] = [
          ...(storedIds.length === 0 ? [] : [{ _id: { $in: storedIds } }]),
          ...(keys.length === 0 || opened.layout.unique === undefined ? [] : [{ k: { $in: [...keys] } }]),
        ];
        const records = new Map<string, StoredRecord>();
        const size = new AnswerSize('decision');
        const look = async (filter: RecordFilter): Promise<void> => {
          for (const each of await storedRecords(opened, filter, size)) records.set(each.id, each);
        };
        for (const filter of named) await look(filter);
        const { swept } = opened.entry;
        const taken = new Set(
          [...records.values()].map(({ fields }) => String(ownValue(fields, opened.layout.unique ?? ''))),
        );
        const free = keys.filter((key) => !taken.has(key));
        if (!swept || free.length === 0) return { records: [...records.values()], formerIds: NO_IDS };
        const former = await formerIds(cleanedUpIn(opened.db, swept), free);
        if (former.size > 0) await look({ _id: { $in: [...former.values()] } });
        return { records: [...records.values()], formerIds: former };
      });
      return { ...readAt(found), ...(found?.result ?? { records: [], formerIds: NO_IDS }) };
    },

    async countOutsideBatch(table, batchId) {
      const counted = await read(table, async ({ entry, records }) => ({
        total: entry.count,
        inside: await records.countDocuments({ b: batchId }),
      }));
      const { total, inside } = counted?.result ?? { total: 0, inside: 0 };
      return { ...readAt(counted), count: total - inside, inside };
    },

    async someOutsideBatch(table, batchId, limit) {
      const found = await read(table, async ({ records, text }) => {
        const some: WholeRecord[] = [];
        let characters = 0;
        const options = { projection: WHOLE_RECORD, limit, batchSize: limit };
        for await (const record of records.find<WholeRecord>({ b: { $ne: batchId } }, options)) {
          characters += record.d.length;
          if (some.length > 0 && characters > MAX_DIFFERENCE_CHARACTERS) break;
          some.push(record);
        }
        return some.map((record) => storedRecord(text, record));
      });
      return found?.result ?? [];
    },

    async deletedRecords(table, cleanUp, page) {
      const found = await read(table, async ({ db, entry, text }) =>
        entry.swept ? deletedRecords(cleanedUpIn(db, entry.swept), text, cleanUp, page) : undefined,
      );
      return found?.result ?? { records: [], total: 0 };
    },

    async find(table, field, values) {
      const records = await read(table, async (opened) => {
        const found: StoredRecord[] = [];
        const size = new AnswerSize('decision');
        for (let at = 0; at < values.length; at += VALUES_AT_ONCE) {
          const anyOf = values.slice(at, at + VALUES_AT_ONCE);
          const filter = filterOf([{ kind: 'equals', field, anyOf }], opened.layout);
          if (filter !== undefined) found.push(...(await storedRecords(opened, filter, size)));
        }
        return found.sort((a, b) => (a.id < b.id ? -1 : 1));
      });
      return records?.result ?? [];
    },

    async history(tenant, orderId, page, cancellation) {
      const found = await tables.read(tenantEntryId('history', tenant), ({ db, entry }) =>
        readHistory(historyOf(db, entry), orderId, page, whileWanted(cancellation)),
      );
      return found?.result ?? { entries: [], before: 0, pages: 0, total: 0 };
    },

    async approvals(tenant, orderIds, cancellation) {
      const page = await tables.read(tenantEntryId('history', tenant), async ({ db, entry }) => {
        const filter = { o: { $in: [...orderIds] }, e: { $regex: APPROVED } };
        const found = historyOf(db, entry).find(filter, { ...whileWanted(cancellation), sort: { o: 1, n: 1 } });
        return lastApprovals((await found.toArray()).map(({ o, e }) => [o, e]));
      });
      return page?.result ?? new Map();
    },

    async activity(tenant, query, cancellation) {
      const found = await tables.read(tenantEntryId('activity', tenant), ({ db, entry }) =>
        readActivity(activityOf(db, entry), query, whileWanted(cancellation)),
      );
      return activityPage(found?.result ?? { entries: [] }, query.filters);
    },

    ...deliveryReads(connection, tables),
    checkpoint: async (projection) => positionOf((await state())?.checkpoints, projection),
    checkpoints: async () =>
      new Map(((await state())?.checkpoints ?? []).map(({ name, position }) => [name, position])),
    anchor: async () => placeOf(await state()),
    parked: () => connection.run(async (db) => parkedOf(db, await readState(db))),
    // Events are applied in the order of the log.
    outOfOrder: async () => [],
    waitFor: (...asked) => poll.waitFor(...asked),
    waitForEvent: (...asked) => poll.waitFor(...asked),

    async close() {
      poll.close();
      await connection.close();
    },
  };
}

/** The revision and time of the last event in what was read. */
const readAt = (read: { readonly entry: CatalogEntry } | undefined) => ({
  revision: read?.entry.revision ?? -1,
  lastEventAt: read?.entry.lastEventAt ?? '',
});

/** @throws AnswerTooLargeError */
async function storedRecords(
  { records, text }: ReadTable,
  filter: RecordFilter,
  size: AnswerSize,
): Promise<readonly StoredRecord[]> {
  const found: WholeRecord[] = [];
  for await (const record of records.find<WholeRecord>(filter, { projection: WHOLE_RECORD, batchSize: 1_000 })) {
    size.add(record.d);
    found.push(record);
  }
  return mapWithPauses(found, (record) => storedRecord(text, record));
}
