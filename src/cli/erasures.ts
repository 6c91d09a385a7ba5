/**
 * Erases a record, an order, a part of an order or a user (GDPR article 17): the values leave the current state by an event as
 * of any change, and `ErasureRecorded` says which values of earlier events are no longer shown.
 */

import { type Caller, ConflictError, NotFoundError, ValidationError } from '../commands/context.js';
import type { DirectoryCommands } from '../commands/identity/directoryWriter.js';
import { known } from '../commands/tables.js';
import { appendEvents, type Loaded, loadStream, NO_STREAM, writeStream } from '../commands/writeStream.js';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { ERASED, type Fields, type FieldValue, fieldRules } from '../domain/assetTypes/fieldTypes.js';
import { orderEffects, type RowEffect, tableEffects } from '../domain/effects.js';
import type { ErasedRecord, ErasureRecorded } from '../domain/erasure.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { DirectoryEvent } from '../domain/identity/events.js';
import type { OrderEvent, OrderStatus } from '../domain/order/events.js';
import type { RecordChanged, ReferenceTableEvent } from '../domain/referenceTable/events.js';
import { ERASURES_STREAM, orderStream, tableStream, tenantStream, usersStream } from '../domain/streams.js';
import type { RecordedEvent } from '../ports/eventStore.js';

type Place = {
  readonly table: string;
  readonly id: string;
  /** The order of a part. */
  readonly orderId?: string | undefined;
};

type ErasedRecordName = Place & {
  /** Default: all fields but the unique one. */
  readonly fields?: readonly string[] | undefined;
  readonly reason: string;
};

/** @throws NotFoundError, ValidationError, ConflictError; TryLaterError */
export async function eraseRecord(
  commands: DirectoryCommands,
  caller: Caller,
  { assetTypes }: Pick<Tenant, 'assetTypes'>,
  name: ErasedRecordName,
): Promise<ErasedRecord> {
  const { table, id, reason } = name;
  const assetType = known(assetTypes, table, 'table');
  const fields = erasedFields(assetType, name.fields, `${ERASED}-${commands.newId()}`);
  const orderId = assetType.role === 'order' ? id : name.orderId;
  if (assetType.role === 'part' && orderId === undefined)
    throw new ValidationError({ order: [`A record of ${table} is a part of an order: name the order as well.`] });
  const place = assetType.role === 'reference' ? { table, id } : { table, id, orderId: orderId ?? id };
  const orderModel = [...assetTypes.values()].find(({ role }) => role === 'order')?.name ?? '';
  const { stream, until } = await eraseFrom(commands, caller, place, orderModel, fields);
  const erased = { tenant: caller.tenant, table, id, stream, until, fields };
  await recordErasure(commands, caller, { ...place, fields: Object.keys(fields), reason }, erased);
  return erased;
}

/** What personal data of a user is: these fields, and the name where events say who acted. */
const USER_FIELDS = ['email', 'first_name', 'last_name', 'password', 'network', 'user_agent'];

/** @throws NotFoundError; ConflictError while the user can sign in */
export async function eraseUser(
  commands: DirectoryCommands,
  caller: Caller,
  { userId, reason }: { readonly userId: number; readonly reason: string },
): Promise<void> {
  const evolve = (before: string | undefined, { type, data }: RecordedEvent): string | undefined =>
    (data as { readonly id?: unknown }).id === userId ? type : before;
  const { state: last } = await loadStream(commands.eventStore, usersStream(caller.tenant), evolve, undefined);
  if (last === undefined) throw new NotFoundError(`No user ${userId} has ever existed.`);
  if (last !== 'UserRemoved')
    throw new ConflictError(
      `The user ${userId} can still sign in: an admin of the tenant removes the user first, on the platform.`,
    );
  await recordErasure(commands, caller, { userId, fields: USER_FIELDS, reason }, { tenant: caller.tenant, userId });
}

/**
 * What is in the place of a field's value; undefined if the field cannot be erased: what the service sets, and what says
 * where a part belongs.
 * @param mark in the place of a unique key, which must stay unique
 */
export function erasedValue(
  { fields, retired = [], uniqueField, custom }: AssetType,
  name: string,
  mark: string,
): FieldValue | undefined {
  const field = [...fields, ...retired].find((each) => each.name === name);
  if (field === undefined || field.readOnly === true || field.format !== undefined || field.oneOf !== undefined)
    return undefined;
  if (name === uniqueField) return mark;
  if (!field.required || field.custom === true || custom === true || field.list === true) return null;
  return fieldRules(field.type).erased;
}

/** @throws ValidationError for fields that are not there, or that cannot be erased */
function erasedFields(assetType: AssetType, named: readonly string[] | undefined, mark: string): Fields {
  const all = [...assetType.fields, ...(assetType.retired ?? [])].map(({ name }) => name);
  const names = named ?? all.filter((name) => name !== assetType.uniqueField);
  const fields: { [name: string]: Fields[string] } = {};
  for (const name of names) {
    const value = erasedValue(assetType, name, mark);
    if (value !== undefined) fields[name] = value;
    else if (named !== undefined)
      throw new ValidationError({ fields: [`${assetType.name} has no field ${name} that could be erased.`] });
  }
  return fields;
}

/** What a stream says of one record, and of the status of the order that it belongs to. */
type Trace = {
  readonly isKnown: boolean;
  readonly isThere: boolean;
  readonly batch?: string | null | undefined;
  readonly status?: OrderStatus | undefined;
};

const NOTHING: Trace = { isKnown: false, isThere: false };

function traced(trace: Trace, effect: RowEffect, { table, id, orderId }: Place): Trace {
  if (!('space' in effect)) return trace;
  const isHere = effect.space === table;
  if (effect.kind === 'cleanUp')
    return isHere ? { ...trace, isThere: trace.isThere && trace.batch === effect.batch } : trace;
  if (effect.kind === 'touch') return isHere && effect.ids.includes(id) ? { ...trace, batch: effect.batch } : trace;
  const set = effect.kind === 'create' ? effect.fields : effect.kind === 'patch' ? effect.set : {};
  const { processing_status: status } = effect.id === orderId ? (set as { processing_status?: OrderStatus }) : {};
  const now = status === undefined ? trace : { ...trace, status };
  if (!isHere || effect.id !== id || effect.kind === 'redact') return now;
  if (effect.kind === 'delete') return { ...now, isThere: false };
  const { batch = now.batch } = effect;
  return { ...now, isKnown: true, isThere: true, batch };
}

/**
 * Decides on all of a stream. After a conflict only what is new is read: a long stream would be written again meanwhile.
 * @returns what the erasure covers: everything before its own events
 */
async function eraseFrom(
  commands: DirectoryCommands,
  caller: Caller,
  place: Place,
  orderModel: string,
  erased: Fields,
): Promise<Pick<ErasedRecord, 'stream' | 'until'>> {
  const { table, id, orderId } = place;
  const stream = orderId === undefined ? tableStream(caller.tenant, table) : orderStream(caller.tenant, orderId);
  const evolve = (trace: Trace, { type, data }: RecordedEvent): Trace => {
    const event: unknown = { type, data };
    const effects =
      orderId === undefined
        ? tableEffects(event as ReferenceTableEvent, table)
        : orderEffects(event as OrderEvent, orderId, orderModel);
    return effects.reduce<Trace>((before, effect) => traced(before, effect, place), trace);
  };
  let read: Loaded<Trace> = { ...NO_STREAM, state: NOTHING };
  const load = async (): Promise<Loaded<Trace>> => {
    const next = await loadStream(commands.eventStore, stream, evolve, read.state, { from: read.revision + 1 });
    if (next.revision !== NO_STREAM.revision) read = next;
    return read;
  };
  const decide = ({ isKnown, isThere, status }: Trace): readonly (RecordChanged | OrderEvent)[] => {
    if (!isKnown) throw new NotFoundError(`No record ${id} has ever existed in ${table}.`);
    if (!isThere) return [];
    if (status === undefined) return [{ type: 'RecordChanged', data: { id, set: erased } }];
    // Without the values before.
    const changes = Object.fromEntries(Object.entries(erased).map(([name, to]) => [name, { from: null, to }] as const));
    const edit = id === orderId ? { changes } : { changed: [{ table, id, changes }] };
    return [{ type: 'OrderEdited', data: { status: { from: status, to: status }, ...edit } }];
  };
  const { revision, events } = await writeStream(commands, caller, { stream, load, decide });
  return { stream, until: revision - events.length };
}

/** The erasure comes last: an interrupted run is repeated as a whole. */
async function recordErasure(
  commands: DirectoryCommands,
  caller: Caller,
  said: Extract<DirectoryEvent, { type: 'DataErased' }>['data'],
  erased: ErasureRecorded['data'],
): Promise<void> {
  await appendEvents(commands, caller, tenantStream(caller.tenant), [{ type: 'DataErased', data: said }]);
  await appendEvents(commands, caller, ERASURES_STREAM, [{ type: 'ErasureRecorded', data: erased }]);
}
