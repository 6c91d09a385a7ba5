import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import type { ActivityEntry } from '#app/ports/activity.js';
import type { DeliveryAttempt, DeliveryLogEntry } from '#app/ports/deliveryLog.js';
import type { HistoryEntry } from '#app/ports/orderHistory.js';
import type { ProjectionProgress } from '#app/ports/projectionProgress.js';
import type { RecordPage, RecordQuery, TableRef } from '#app/ports/readModels.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { textField } from '../fixtures/textField.js';

/** Both sides of the same, empty read models; the suite closes what it opened. */
export type OpenReadModels = () => Promise<{
  readonly readModels: ReadModels;
  readonly writer: ReadModelWriter & RebuildableReadModels;
  /** Another writer on the same read models, as another process would open it. */
  readonly anotherWriter: () => Promise<ReadModelWriter & RebuildableReadModels>;
  /** A value of `notes` that the engine refuses to store from now on. Tables must have their first record. */
  readonly refusedNotes: () => string;
}>;

/** What is asked of the read side, and how tests write it. */
export type OpenQueries<Methods extends keyof ReadModelWriter> = () => Promise<{
  readonly readModels: Omit<ReadModels, keyof ProjectionProgress>;
  readonly writer: Pick<ReadModelWriter, 'begin' | 'commit' | Methods>;
}>;

const PROJECTIONS = ['records', 'order_history', 'deliveries', 'activity'];

/** Opens once, and empties for each test what it opened: opening takes longer than most tests. */
export function openedOnce(open: OpenReadModels): OpenReadModels {
  let opened: Awaited<ReturnType<OpenReadModels>> | undefined;
  afterAll(async () => {
    await opened?.readModels.close();
    await opened?.writer.close();
  });
  return async () => {
    opened ??= await open();
    // What was refused may have left its transaction open.
    await opened.writer.rollback();
    for (const projection of PROJECTIONS) await opened.writer.reset(projection);
    return opened;
  };
}

export const places: AssetType = {
  name: 'places',
  label: 'Places',
  description: 'Places to test with.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'code',
  fields: [
    textField('code'),
    textField('name'),
    textField('size', { type: 'Decimal' }),
    textField('open', { type: 'Boolean' }),
    textField('notes', { type: 'LongText', filterable: false, sortable: false }),
  ],
  relationships: [],
};

export const placesWithRegion: AssetType = { ...places, fields: [...places.fields, textField('region')] };

export const acmePlaces: TableRef = { tenant: 'acme', table: 'places' };

/** `id(7)` is a UUID that sorts as 7. */
export const id = (n: number): string => `0198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** `at(7)` is a time 7 microseconds after another. */
export const at = (n: number): string => `2026-11-21T03:11:47.${String(n).padStart(6, '0')}Z`;

export const insert = (n: number, fields: Fields, batchId: string | null = null): RecordChange => ({
  kind: 'insert',
  id: id(n),
  at: at(n),
  batchId,
  fields: { code: `C${n}`, ...fields },
});

export const query = (more: Partial<RecordQuery> = {}): RecordQuery => ({
  filters: [],
  sort: [],
  offset: 0,
  limit: 25,
  ...more,
});

export const contains = (field: string, ...anyOf: string[]): RecordQuery['filters'][number] => ({
  kind: 'contains',
  field,
  anyOf,
});

export const historyEntry = (revision: number, more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  position: revision + 10,
  revision,
  eventId: id(revision),
  eventType: 'OrderSaved',
  at: at(revision),
  actor: { kind: 'user', id: '7', name: 'Ada' },
  correlationId: 'c',
  causationId: 'd',
  statusFrom: null,
  statusTo: 'saved',
  reasons: [],
  changes: [{ table: 'dyn_stock_order', id: id(1), field: 'notes', from: null, to: 'now' }],
  ...more,
});

/** The nth entry of an activity: a client changed a record at `at(n)`. */
export const activityEntry = (n: number, more: Partial<ActivityEntry> = {}): ActivityEntry => ({
  kind: 'record.changed',
  table: 'dyn_item',
  subject: { kind: 'record', id: id(n) },
  fields: ['name'],
  at: at(n),
  position: n,
  revision: n,
  eventId: id(n),
  actor: { kind: 'client', id: id(1), name: 'ERP' },
  correlationId: id(n),
  causationId: id(n),
  request: { method: 'PUT', path: '/api/v1/dynamic-assets/dyn/dyn_item/assets' },
  ...more,
});

/** The nth delivery to the webhook `hook`: requested at `at(n)`, open. */
export const delivery = (n: number, more: Partial<DeliveryLogEntry> = {}): DeliveryLogEntry => ({
  id: id(n),
  revision: 0,
  position: n,
  webhookId: 'hook',
  messageId: id(n),
  kind: 'order.approved',
  purpose: null,
  orderId: id(1),
  table: null,
  sequence: 4,
  requestedAt: at(n),
  state: 'open',
  endedAt: null,
  reason: null,
  retryAt: null,
  attempts: [],
  ...more,
});

/** An attempt that ended at `at(ended)`: well, or for this reason. */
export const attempt = (number: number, ended: number, reason: string | null): DeliveryAttempt => ({
  attempt: number,
  url: 'https://erp.example/orders',
  startedAt: at(ended),
  endedAt: at(ended),
  durationMs: 12,
  status: reason === null ? 200 : 500,
  reason,
  responseBody: 'Ünïcode "quoted"\n🚚',
});

export const succeeded = (n: number, ended: number, more: Partial<DeliveryLogEntry> = {}): DeliveryLogEntry =>
  delivery(n, { revision: 2, state: 'succeeded', endedAt: at(ended), attempts: [attempt(1, ended, null)], ...more });

export const failed = (n: number, ended: number, more: Partial<DeliveryLogEntry> = {}): DeliveryLogEntry =>
  delivery(n, {
    revision: 3,
    state: 'failed',
    endedAt: at(ended),
    reason: 'No attempt is left.',
    attempts: [attempt(1, ended, 'HTTP 500')],
    ...more,
  });

/** One transaction of a projection. */
export async function write(
  writer: Pick<ReadModelWriter, 'begin' | 'commit'>,
  work: () => Promise<void>,
  checkpoints: Record<string, number> = {},
): Promise<void> {
  await writer.begin();
  await work();
  await writer.commit(new Map(Object.entries(checkpoints)));
}

/** Defines the table and applies changes, in one transaction. */
export const fill = (
  writer: Pick<ReadModelWriter, 'begin' | 'commit' | 'defineTable' | 'applyToTable'>,
  changes: readonly RecordChange[],
  table: TableRef = acmePlaces,
): Promise<void> =>
  write(writer, async () => {
    await writer.defineTable(table, places);
    await writer.applyToTable(table, changes, { revision: 4, at: at(4) });
  });

export const recordsOn = <Shown extends object>({ records }: Pick<RecordPage, 'records'>): readonly Shown[] =>
  JSON.parse(`[${Buffer.from(records)}]`);

/** The values of one field (default: code) of the records that a query finds, and the total. */
export async function found(
  readModels: Pick<ReadModels, 'list'>,
  more: Partial<RecordQuery>,
  table: TableRef = acmePlaces,
  of = 'code',
): Promise<{ records: unknown[]; total: number }> {
  const page = await readModels.list(table, query(more));
  return { records: recordsOn<{ [name: string]: unknown }>(page).map((record) => record[of]), total: page.total };
}
