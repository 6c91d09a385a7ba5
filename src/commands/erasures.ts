/**
 * Erases a record, an order, a part of an order or a user (GDPR article 17): the values leave the current state by an event as
 * of any change, and `ErasureRecorded` says which values of earlier events are no longer shown.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { ERASED, type Fields, ownValue } from '../domain/assetTypes/fieldTypes.js';
import { type RowEffect, tableEffects } from '../domain/effects.js';
import { type ErasedRecord, type ErasureRecorded, erasedValue } from '../domain/erasure.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { DirectoryEvent, UserEvent } from '../domain/identity/events.js';
import { MAX_ERASURES } from '../domain/limits.js';
import type { OrderEvent } from '../domain/order/events.js';
import { type Order, stay } from '../domain/order/order.js';
import type { RecordChanged, ReferenceTableEvent } from '../domain/referenceTable/events.js';
import { ERASURES_STREAM, orderStream, tableStream, tenantStream, usersStream } from '../domain/streams.js';
import type { EventToAppend } from '../ports/eventStore.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from './context.js';
import { type DirectoryCommands, writeDirectory } from './identity/directoryWriter.js';
import { orderAfter } from './orders/loadOrder.js';
import { streamPages } from './streamPages.js';
import { type Loaded, loadStream, NO_STREAM, streamEnd, writeStream } from './writeStream.js';

type ErasedRecordName = {
  readonly table: string;
  readonly id: string;
  /** The order of a part. */
  readonly orderId?: string | undefined;
  /** Default: all fields but the unique one. */
  readonly fields?: readonly string[] | undefined;
  readonly reason: string;
};

/** @throws NotFoundError, ValidationError, ConflictError; TryAgainError */
export async function eraseRecord(
  commands: DirectoryCommands,
  caller: Caller,
  { assetTypes }: Pick<Tenant, 'assetTypes'>,
  name: ErasedRecordName,
): Promise<ErasedRecord> {
  await requireRoom(commands);
  const { table, id, reason } = name;
  const assetType = assetTypes.get(table);
  if (assetType === undefined) throw new NotFoundError(`There is no table ${table}.`);
  const fields = erasedFields(assetType, name.fields, `${ERASED}-${commands.newId()}`);
  const orderId = assetType.role === 'order' ? id : name.orderId;
  if (assetType.role === 'part' && orderId === undefined)
    throw new ValidationError({ order: [`A record of ${table} is a part of an order: name the order as well.`] });
  const { stream, until } =
    assetType.role === 'reference'
      ? await eraseFromTable(commands, caller, { table, id, fields })
      : await eraseFromOrder(commands, caller, { table, id, fields, orderId: orderId ?? id });
  const names = Object.keys(fields);
  const about = assetType.role === 'reference' ? { table, id } : { table, id, orderId: orderId ?? id };
  await sayErased(commands, caller, { type: 'DataErased', data: { ...about, fields: names, reason } });
  const erased = { tenant: caller.tenant, table, id, stream, until, fields };
  // Last: an interrupted run is repeated as a whole.
  await recordErasure(commands, caller, erased);
  return erased;
}

/** What personal data of a user is: these fields, and the name where events say who acted. */
const USER_FIELDS = ['email', 'first_name', 'last_name', 'password'];

/** @throws NotFoundError; ConflictError while the user can sign in */
export async function eraseUser(
  commands: DirectoryCommands,
  caller: Caller,
  { userId, reason }: { readonly userId: number; readonly reason: string },
): Promise<void> {
  await requireRoom(commands);
  let last: UserEvent['type'] | undefined;
  for await (const page of streamPages(commands.eventStore, usersStream(caller.tenant)))
    for (const { type, data } of page) {
      const event = { type, data } as UserEvent;
      if (event.data.id === userId) last = event.type;
    }
  if (last === undefined) throw new NotFoundError(`There never was a user ${userId}.`);
  if (last !== 'UserRemoved')
    throw new ConflictError(
      `The user ${userId} can still sign in: an admin of the tenant removes the user first, on the platform.`,
    );
  await sayErased(commands, caller, { type: 'DataErased', data: { userId, fields: USER_FIELDS, reason } });
  await recordErasure(commands, caller, { tenant: caller.tenant, userId });
}

/** @throws ValidationError for fields that are not there, or that cannot be erased */
function erasedFields(assetType: AssetType, named: readonly string[] | undefined, mark: string): Fields {
  const names = named ?? assetType.fields.map(({ name }) => name).filter((name) => name !== assetType.uniqueField);
  const fields: { [name: string]: Fields[string] } = {};
  for (const name of names) {
    const value = erasedValue(assetType, name, mark);
    if (value !== undefined) fields[name] = value;
    else if (named !== undefined)
      throw new ValidationError({ fields: [`${assetType.name} has no field ${name} that could be erased.`] });
  }
  return fields;
}

/** @throws ConflictError */
async function requireRoom({ eventStore }: Pick<DirectoryCommands, 'eventStore'>): Promise<void> {
  const last = await eventStore.lastAppend(ERASURES_STREAM);
  if (last !== undefined && last.revision + 1 >= MAX_ERASURES)
    throw new ConflictError(`The log has ${MAX_ERASURES} erasures, and each process knows all of them: no more fit.`);
}

type Erased = { readonly table: string; readonly id: string; readonly fields: Fields };
type Covered = Pick<ErasedRecord, 'stream' | 'until'>;

/** What the stream of a table says of one record. */
type Trace = { readonly isKnown: boolean; readonly fields?: Fields | undefined; readonly batchId?: string | null };

function eraseFromTable(commands: DirectoryCommands, caller: Caller, { table, id, fields }: Erased): Promise<Covered> {
  const evolve = (trace: Trace, { type, data }: EventToAppend): Trace =>
    tableEffects({ type, data } as ReferenceTableEvent, table).reduce(
      (before, effect) => traced(before, effect, id),
      trace,
    );
  return eraseFrom(commands, caller, tableStream(caller.tenant, table), table, evolve, { isKnown: false }, (trace) => {
    if (!trace.isKnown) throw new NotFoundError(`There never was a record ${id} in ${table}.`);
    const set = filledOf(trace.fields, fields);
    return Object.keys(set).length === 0 ? [] : [{ type: 'RecordChanged', data: { id, set } }];
  });
}

function traced(trace: Trace, effect: RowEffect, id: string): Trace {
  switch (effect.kind) {
    case 'create':
      return effect.id === id ? { isKnown: true, fields: effect.fields, batchId: effect.batch } : trace;
    case 'patch': {
      if (effect.id !== id) return trace;
      const { batch: batchId = trace.batchId ?? null, set } = effect;
      return { ...trace, batchId, fields: { ...trace.fields, ...set } };
    }
    case 'delete':
      return effect.id === id ? { isKnown: true } : trace;
    case 'touch':
      return effect.ids.includes(id) ? { ...trace, batchId: effect.batch } : trace;
    case 'cleanUp':
      return trace.isKnown && trace.batchId !== effect.batch ? { isKnown: true } : trace;
    default:
      return trace;
  }
}

/** The erased fields that have another value now, with what comes into its place. */
const filledOf = (now: Fields = {}, erased: Fields): Fields =>
  Object.fromEntries(
    Object.entries(erased).filter(([name, instead]) => {
      const value = ownValue(now, name) ?? null;
      return value !== null && value !== instead;
    }),
  );

/** `isKnown`: whether the order has, or once had, the part. */
type OrderTrace = { readonly order?: Order | undefined; readonly isKnown: boolean };

function eraseFromOrder(
  commands: DirectoryCommands,
  caller: Caller,
  { table, id, fields, orderId }: Erased & { readonly orderId: string },
): Promise<Covered> {
  const isOrder = id === orderId;
  const evolve = (trace: OrderTrace, event: EventToAppend): OrderTrace => {
    const order = orderAfter(trace.order, [event]);
    return { order, isKnown: trace.isKnown || (isOrder ? order?.table === table : order?.parts.has(id) === true) };
  };
  const stream = orderStream(caller.tenant, orderId);
  return eraseFrom(commands, caller, stream, table, evolve, { isKnown: false }, ({ order, isKnown }) => {
    if (order === undefined || !isKnown)
      throw new NotFoundError(
        `There never was a record ${id} in ${table}${isOrder ? '' : ` of the order ${orderId}`}.`,
      );
    const set = filledOf(isOrder ? order.fields : order.parts.get(id)?.fields, fields);
    const named = Object.entries(set).map(([name, to]) => [name, { from: null, to }] as const);
    if (named.length === 0) return [];
    // Without the values before.
    const data = { status: stay(order), changes: Object.fromEntries(named) };
    return [isOrder ? { type: 'OrderChanged', data } : { type: 'OrderPartChanged', data: { ...data, table, id } }];
  });
}

/**
 * Decides on all of a stream. After a conflict only what is new is read, as it may be long.
 * @returns what the erasure covers: everything before its own events
 */
async function eraseFrom<State>(
  commands: DirectoryCommands,
  caller: Caller,
  stream: string,
  name: string,
  evolve: (state: State, event: EventToAppend) => State,
  first: State,
  decide: (state: State) => readonly (RecordChanged | OrderEvent)[],
): Promise<Covered> {
  let known: Loaded<State> = { ...NO_STREAM, state: first };
  const load = async () => {
    const evolveFrom = (state: State | undefined, event: EventToAppend) => evolve(state ?? first, event);
    const from = known.revision + 1;
    const next = await loadStream(commands.eventStore, stream, evolveFrom, known.state, { from });
    if (next.revision !== NO_STREAM.revision) known = { ...next, state: next.state ?? first };
    return known;
  };
  const { revision, events } = await writeStream(commands, caller, { stream, name, load, decide });
  return { stream, until: revision - events.length };
}

const sayErased = (
  commands: DirectoryCommands,
  caller: Caller,
  event: Extract<DirectoryEvent, { type: 'DataErased' }>,
): Promise<unknown> => writeDirectory(commands, caller, tenantStream(caller.tenant), () => [event], true);

const recordErasure = (commands: DirectoryCommands, caller: Caller, data: ErasureRecorded['data']): Promise<unknown> =>
  writeStream<undefined, ErasureRecorded>(commands, caller, {
    stream: ERASURES_STREAM,
    name: 'The list of erasures',
    load: () => streamEnd(commands.eventStore, ERASURES_STREAM),
    decide: () => [{ type: 'ErasureRecorded', data }],
  });
