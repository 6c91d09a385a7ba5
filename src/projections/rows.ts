/** What rows look like after an event: the effects of events, folded over the stored rows, as slices of writes. */
import type { Activity } from '../domain/activity.js';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { type FieldValue, ownValue } from '../domain/assetTypes/fieldTypes.js';
import { type Effects, effectsOf, type RowEffect } from '../domain/effects.js';
import type { ReadEvent } from '../domain/eventTypes.js';
import { dayOf } from '../domain/identity/events.js';
import { charactersOf } from '../domain/jsonSize.js';
import { IDEMPOTENCY_KEY_HOURS } from '../domain/limits.js';
import { withoutNulls } from '../domain/referenceTable/decide.js';
import { ACTIVITY, DELIVERIES, KEYS, keepsPast, keyOf, type Row, spacesOnThisRelease } from '../domain/spaces.js';
import { parseStream } from '../domain/streams.js';
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import type { RowWrite, RowWriter, Slice, StoredRow } from '../ports/rowStore.js';
import { messageOf } from '../supervision/files.js';

/**
 * New rows of a slice, unless one append has more: other tenants wait for it. A row that changes is read, kept in the past and
 * written; it counts for several, and so does a long one.
 */
const ROWS_OF_SLICE = 1_000;
const ROWS_OF_CHANGE = 4;
const CHARACTERS_OF_ROW = 1_600;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type RowOptions = {
  /** Days for which a delivery is kept after its end. */
  readonly deliveryLogDays: number;
};

/** Only the event is to blame, so its tenant is parked at it. The message is for operators. */
export class EventNotAppliedError extends Error {
  override readonly name = 'EventNotAppliedError';
  constructor(
    readonly event: RecordedEvent,
    cause: unknown,
  ) {
    super(messageOf(cause), { cause });
  }
}

/**
 * The slices of consecutive events of one tenant. Each is computed from the stored rows when it is asked for, so the one before
 * must be applied by then. Events before the tenant's creation make none.
 * @param events behind the tenant's progress, without what is erased
 * @throws EventNotAppliedError behind the slices of all events before it
 */
export async function* slicesOf(
  tenant: string,
  events: readonly RecordedEvent[],
  store: Pick<RowWriter, 'rows' | 'spaces'>,
  { deliveryLogDays }: RowOptions,
): AsyncGenerator<Slice> {
  const found = await store.spaces(tenant);
  const stored = new Map([...(found ?? [])].map(([name, { assetType }]) => [name, assetType]));
  const spaces = spacesOnThisRelease(stored);
  let renewed = [...spaces.values()].filter((assetType) => stored.get(assetType.name) !== assetType);
  const folding = new Folding(spaces, deliveryLogDays, found?.get(DELIVERIES.name)?.state.lastEventAt ?? '');
  for (const slice of cut(events, spaces)) {
    const writes: RowWrite[] = renewed.map((assetType) => ({ kind: 'define', assetType }));
    renewed = [];
    folding.rows = await rowsBefore(tenant, slice, store);
    let position: Position | undefined;
    let logBytes = 0;
    let failure: unknown;
    try {
      for (const append of slice) {
        const ofAppend = append.events.flatMap((each) => folding.writesOf(each));
        if (append.failure !== undefined) throw append.failure;
        writes.push(...ofAppend);
        logBytes += append.logBytes;
        ({ position } = append);
      }
    } catch (error) {
      failure = error;
    }
    if (position !== undefined) yield { writes: inOrder(writes), position, logBytes };
    if (failure !== undefined) throw failure;
  }
}

/** Strangers cause refused sign-ins, which must not use up a quota. */
function bytesOf(events: readonly Interpreted[]): number {
  const counted = events.filter(({ event }) => event.type !== 'SignInRefused');
  return counted.reduce((sum, { event: { data, metadata } }) => sum + charactersOf(data) + charactersOf(metadata), 0);
}

type Interpreted = { readonly event: RecordedEvent; readonly effects: Effects };

/** Events of one position, which become visible together. */
type Append = {
  readonly position: Position;
  readonly events: readonly Interpreted[];
  /** Why the event behind these cannot be applied. */
  readonly failure?: unknown;
  readonly rows: number;
  readonly logBytes: number;
  readonly isCleanUp: boolean;
};

/** @param spaces is kept as the events leave it */
function* cut(events: readonly RecordedEvent[], spaces: Map<string, AssetType>): Generator<readonly Append[]> {
  let slice: Append[] = [];
  let rows = 0;
  for (const ofAppend of appendsIn(events)) {
    const append = interpreted(ofAppend, spaces);
    if (append === undefined) continue;
    rows += append.rows;
    if (slice.length > 0 && (append.isCleanUp || rows > ROWS_OF_SLICE)) {
      yield slice;
      slice = [];
      rows = append.rows;
    }
    slice.push(append);
    if (append.isCleanUp) rows = ROWS_OF_SLICE;
    if (append.failure !== undefined) break;
  }
  if (slice.length > 0) yield slice;
}

function* appendsIn(events: readonly RecordedEvent[]): Generator<readonly RecordedEvent[]> {
  let from = 0;
  for (const [index, { position }] of events.entries()) {
    if (events[index + 1]?.position === position) continue;
    yield events.slice(from, index + 1);
    from = index + 1;
  }
}

/** @returns undefined for events before the tenant's creation */
function interpreted(ofAppend: readonly RecordedEvent[], spaces: Map<string, AssetType>): Append | undefined {
  const events: Interpreted[] = [];
  let failure: unknown;
  for (const event of ofAppend) {
    if (spaces.size === 0 && event.type !== 'TenantCreated') continue;
    try {
      const orders = [...spaces.values()].find(({ role }) => role === 'order');
      const effects = effectsOf(event, { orderModel: orders?.name ?? '', assetTypes: spaces });
      for (const each of effects.rows) if (each.kind === 'define') spaces.set(each.assetType.name, each.assetType);
      events.push({ event, effects });
    } catch (error) {
      failure = new EventNotAppliedError(event, error);
      break;
    }
  }
  const [first] = ofAppend;
  if (first === undefined || (events.length === 0 && failure === undefined)) return undefined;
  const effects = events.flatMap((each) => each.effects.rows);
  const logBytes = bytesOf(events);
  const rowsOf = (each: RowEffect): number =>
    each.kind === 'touch' ? each.ids.length : each.kind === 'patch' ? ROWS_OF_CHANGE : 1;
  return {
    position: first.position,
    events,
    failure,
    rows: effects.reduce((sum, each) => sum + rowsOf(each), events.length) + logBytes / CHARACTERS_OF_ROW,
    logBytes,
    isCleanUp: effects.some(({ kind }) => kind === 'cleanUp'),
  };
}

type Patch = Extract<RowEffect, { kind: 'patch' }>;

/** Rows by id, by space. */
type Rows = Map<string, Map<string, Row>>;

/** The stored rows that the slice creates (there should be none), changes or deletes. */
async function rowsBefore(tenant: string, slice: readonly Append[], store: Pick<RowWriter, 'rows'>): Promise<Rows> {
  const ids = new Map<string, Set<string>>();
  for (const { events } of slice)
    for (const { effects } of events)
      for (const effect of effects.rows)
        if (effect.kind === 'create' || effect.kind === 'patch' || effect.kind === 'delete') {
          const ofSpace = ids.get(effect.space) ?? new Set();
          ids.set(effect.space, ofSpace.add(effect.id));
        }
  const rows: Rows = new Map();
  for (const [space, wanted] of ids) {
    const found = await store.rows({ tenant, space }, { ids: [...wanted], keys: [] });
    rows.set(space, new Map(found.rows.map((row) => [row.id, asRow(row)])));
  }
  return rows;
}

const asRow = ({ n: _, data, ...row }: StoredRow): Row => ({ ...row, fields: JSON.parse(data) });

class Folding {
  /** As they are behind the events so far: those that events of the slice create, change or delete. */
  rows: Rows = new Map();

  /** @param forgottenAt when deliveries were forgotten last; '' if never */
  constructor(
    private readonly spaces: ReadonlyMap<string, AssetType>,
    private readonly deliveryLogDays: number,
    private forgottenAt: string,
  ) {}

  /** @throws EventNotAppliedError */
  writesOf({ event, effects }: Interpreted): readonly RowWrite[] {
    const { stream, revision, metadata } = event;
    const { category, rest: space } = parseStream(stream);
    try {
      const writes = effects.rows.flatMap((effect) => this.#write(effect, event));
      if (effects.activity !== undefined) writes.push(activityWrite(effects.activity, event));
      if (category === 'table') writes.push({ kind: 'end', space, revision, at: metadata.occurredAt });
      // Tables of orders have no stream of their own.
      for (const name of category === 'order' ? new Set(effects.rows.flatMap(spaceOf)) : [])
        writes.push({ kind: 'end', space: name, revision: -1, at: metadata.occurredAt });
      return [...writes, ...this.#forget(metadata.occurredAt)];
    } catch (error) {
      throw new EventNotAppliedError(event, error);
    }
  }

  /** Once a day (UTC), by the times of events and no clock, so that each copy made from the log has the same rows. */
  #forget(at: string): readonly RowWrite[] {
    if (dayOf(at) <= dayOf(this.forgottenAt)) return [];
    this.forgottenAt = at;
    return [
      this.#forgotten(DELIVERIES.name, 'ended_at', at, this.deliveryLogDays * DAY_MS),
      this.#forgotten(KEYS.name, 'used_at', at, IDEMPOTENCY_KEY_HOURS * HOUR_MS),
      // Notes when.
      { kind: 'end', space: DELIVERIES.name, revision: -1, at },
    ];
  }

  #forgotten(space: string, field: string, at: string, keptMs: number): RowWrite {
    const before = new Date(Date.parse(at) - keptMs).toISOString().replace('Z', '000Z');
    const rows = this.#rowsOf(space);
    for (const [id, { fields }] of rows) if (String(ownValue(fields, field) ?? before) < before) rows.delete(id);
    return { kind: 'forget', space, field, before };
  }

  #rowsOf(space: string): Map<string, Row> {
    const rows = this.rows.get(space) ?? new Map<string, Row>();
    this.rows.set(space, rows);
    return rows;
  }

  #write(effect: RowEffect, event: RecordedEvent): readonly RowWrite[] {
    if (effect.kind === 'define') return [effect];
    const { space } = effect;
    const assetType = this.spaces.get(space);
    if (assetType === undefined) throw new Error(`There is no table ${space}.`);
    const rows = this.#rowsOf(space);
    const { position } = event;
    switch (effect.kind) {
      case 'create':
        return [this.#created(effect, assetType, rows, event)];
      case 'patch':
        return this.#patched(effect, assetType, rows, event);
      case 'touch':
        for (const id of effect.ids) {
          const row = rows.get(id);
          if (row !== undefined) rows.set(id, { ...row, batch: effect.batch });
        }
        return [{ kind: 'touch', space, ids: effect.ids, batch: effect.batch }];
      case 'delete': {
        const was = rows.get(effect.id);
        rows.delete(effect.id);
        return was === undefined ? [] : [{ kind: 'delete', space, was, to: position }];
      }
      case 'cleanUp':
        return [{ kind: 'cleanUp', space, batch: effect.batch, to: position }];
      case 'redact':
        return [effect];
    }
  }

  #created(
    { space, id, batch, fields }: Extract<RowEffect, { kind: 'create' }>,
    assetType: AssetType,
    rows: Map<string, Row>,
    { position, metadata: { occurredAt: at } }: RecordedEvent,
  ): RowWrite {
    // A key may be used again after its time.
    if (rows.has(id) && space !== KEYS.name) throw new Error(`The record ${id} of ${space} is created a second time.`);
    const set = withoutNulls(fields);
    const row = { id, key: keyOf(assetType, set), from: position, created: at, updated: at, batch, fields: set };
    rows.set(id, row);
    return { kind: 'put', space, row };
  }

  #patched(
    { space, id, batch, set, merge }: Patch,
    assetType: AssetType,
    rows: Map<string, Row>,
    { position, metadata }: RecordedEvent,
  ): readonly RowWrite[] {
    const was = rows.get(id);
    if (was === undefined) {
      // A delivery may end after it was forgotten.
      if (!keepsPast(space)) return [];
      throw new Error(`There is no record ${id} of ${space} to change.`);
    }
    const merged = merge === undefined ? {} : { [merge.field]: mergedText(ownValue(was.fields, merge.field), merge) };
    const fields = withoutNulls({ ...was.fields, ...set, ...merged });
    const changed = { from: position, updated: metadata.occurredAt, ...(batch !== undefined && { batch }) };
    const row = { ...was, ...changed, key: keyOf(assetType, fields), fields };
    rows.set(id, row);
    return [{ kind: 'put', space, row, ...(keepsPast(space) && was.from !== position && { was }) }];
  }
}

const spaceOf = (effect: RowEffect): readonly string[] =>
  'space' in effect && keepsPast(effect.space) ? [effect.space] : [];

function mergedText(text: FieldValue | undefined, { member, with: more }: NonNullable<Patch['merge']>): string {
  const before = typeof text === 'string' ? JSON.parse(text) : {};
  return JSON.stringify({ ...before, [member]: { ...before[member], ...more } });
}

function activityWrite(activity: Activity, { id, revision, position, metadata }: RecordedEvent): RowWrite {
  const { kind, table, orderId, subject, counts, fields: changed, details } = activity;
  const { correlationId, causationId, request, occurredAt: at } = metadata;
  const actor: ReadEvent['metadata']['actor'] = metadata.actor;
  const text = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));
  const fields = withoutNulls({
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
    request: text(request),
    counts: text(counts),
    fields: text(changed),
    details: text(details),
  });
  const row = { id: id.toLowerCase(), key: null, from: position, created: at, updated: at, batch: null, fields };
  return { kind: 'put', space: ACTIVITY.name, row };
}

/** Clean-ups first, then the last end of each space alone. */
function inOrder(writes: readonly RowWrite[]): readonly RowWrite[] {
  const cleanUps = writes.filter(({ kind }) => kind === 'cleanUp');
  const others = writes.filter(({ kind }) => kind !== 'cleanUp' && kind !== 'end');
  const ends = new Map(writes.flatMap((write) => (write.kind === 'end' ? [[write.space, write] as const] : [])));
  return [...cleanUps, ...others, ...ends.values()];
}
