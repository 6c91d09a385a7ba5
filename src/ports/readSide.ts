/** All reads of the read models: the ports together, one table of their methods, and one way to decorate them. */
import type { ActivityReads } from './activity.js';
import type { DecisionReads } from './decisionReads.js';
import type { DeliveryLog } from './deliveryLog.js';
import type { LogAnchor, Position } from './eventStore.js';
import type { HistoryReads } from './orderHistory.js';
import type { ProjectionProgress } from './projectionProgress.js';
import type { RecordReads, TableRef } from './readModels.js';
import type { RebuildScope } from './readModelWriter.js';

/** What an adapter opens. Callers depend on one of the small ports. */
export interface ReadModels
  extends RecordReads,
    HistoryReads,
    ActivityReads,
    DecisionReads,
    DeliveryLog,
    ProjectionProgress {
  close(): Promise<void>;
}

export type ReadMethod = Exclude<keyof ReadModels, 'close' | 'replaced'>;
type Args = { readonly [Method in ReadMethod]: Parameters<ReadModels[Method]> };
type Answers = { readonly [Method in ReadMethod]: Awaited<ReturnType<ReadModels[Method]>> };
export type Read<Method extends ReadMethod> = (...args: Args[Method]) => Promise<Answers[Method]>;
/** Every method as a function of the same shape, so that one interceptor can call them all. */
export type Reads = { readonly [Method in ReadMethod]: Read<Method> };

/** What a read is about, as its arguments say: of all tenants if none is named. */
export type ReadSubject = { readonly tenant?: string | undefined };

type Description<Method extends ReadMethod> = {
  /** The projection that answers; undefined: the progress of projections, which is always told. */
  readonly projection?: RebuildScope['projection'];
  readonly subjectOf: (...args: Args[Method]) => ReadSubject;
  /** Makes one answer of those of all lanes; needed where no tenant is named. */
  readonly join?: (answers: readonly Answers[Method][]) => Answers[Method];
};

const ofTable = (table: TableRef): ReadSubject => table;
const ofTenant = (tenant: string): ReadSubject => ({ tenant });
const ofAll = (): ReadSubject => ({});
const ofWaiter = (_projection: string, _position: Position, _timeoutMs: number, tenant?: string): ReadSubject => ({
  tenant,
});

const record = { projection: 'records', subjectOf: ofTable } as const;
const history = { projection: 'order_history', subjectOf: ofTenant } as const;
const delivery = { projection: 'deliveries', subjectOf: ofTenant } as const;
const flat = <Item>(answers: readonly (readonly Item[])[]): readonly Item[] => answers.flat();
const all = (answers: readonly boolean[]): boolean => answers.every((each) => each);

/** The one place, beside the ports and the stores, that knows every method. */
export const READ_METHODS: { readonly [Method in ReadMethod]: Description<Method> } = {
  get: record,
  list: record,
  listBehind: record,
  byIds: record,
  cleanedUpIds: record,
  recordEvents: record,
  orderOfPart: record,
  cleanedUpRecord: record,
  tableState: record,
  counts: record,
  find: record,
  snapshot: record,
  countOutsideBatch: record,
  someOutsideBatch: record,
  deletedRecords: record,
  tableFigures: { projection: 'records', subjectOf: ofAll, join: flat },
  history,
  approvals: history,
  activity: { projection: 'activity', subjectOf: ofTenant },
  delivery,
  deliveries: delivery,
  deliveriesOfOrder: delivery,
  webhookHealth: delivery,
  deliveryBacklog: { projection: 'deliveries', subjectOf: ofAll, join: flat },
  checkpoint: { subjectOf: ofAll, join: (positions) => Math.min(...positions) },
  checkpoints: { subjectOf: ofAll, join: lowest },
  anchor: { subjectOf: ofAll, join: furthest },
  parked: { subjectOf: ofAll, join: flat },
  outOfOrder: { subjectOf: ofAll, join: flat },
  waitFor: { subjectOf: ofWaiter, join: all },
  waitForEvent: { subjectOf: ofWaiter, join: all },
};

const isMethod = (name: string): name is ReadMethod => Object.hasOwn(READ_METHODS, name);
const METHODS = Object.keys(READ_METHODS).filter(isMethod);

/** Decorates all methods in one way. @param intercept is called once for each method, and returns what answers it from then on */
export const interceptReads = (intercept: <Method extends ReadMethod>(method: Method) => Read<Method>): Reads =>
  // The compiler cannot see that each name is there.
  Object.fromEntries(METHODS.map((method) => [method, intercept(method)])) as Reads;

function lowest(lanes: readonly ReadonlyMap<string, Position>[]): ReadonlyMap<string, Position> {
  const names = new Set(lanes.flatMap((each) => [...each.keys()]));
  return new Map([...names].map((name) => [name, Math.min(...lanes.map((each) => each.get(name) ?? 0))]));
}

function furthest(lanes: readonly (LogAnchor | undefined)[]): LogAnchor | undefined {
  return lanes.filter((anchor) => anchor !== undefined).sort((a, b) => b.position - a.position)[0];
}
