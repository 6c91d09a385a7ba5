/**
 * Erasure (GDPR article 17): which values of the log's past are no longer shown, and events without them. An erasure concerns
 * what was written before it; what is written later is shown.
 */
import type { AssetType, RecordView } from './assetTypes/assetType.js';
import {
  type Changes,
  changesOf,
  ERASED,
  type Fields,
  type FieldValue,
  fieldRules,
  ownValue,
  sideOf,
} from './assetTypes/fieldTypes.js';
import type { EventOf } from './eventTypes.js';
import type { Approver } from './order/exportDocument.js';
import type { ExportSnapshot } from './order/snapshot.js';
import { namedValues } from './referenceTable/events.js';
import { parseStream } from './streams.js';

/** An address that nobody has (RFC 2606). */
const NO_EMAIL = 'erased@erased.invalid';

/** In the stream `log-erasures`: what the log no longer shows. Who asked, when and why stands in the tenant's stream (`DataErased`). */
export type ErasureRecorded = EventOf<'ErasureRecorded', ErasedRecord | ErasedUser>;

/** A record of a reference table, an order, or a part of an order. */
export type ErasedRecord = {
  readonly tenant: string;
  readonly table: string;
  readonly id: string;
  /** The stream that it lives in, and the last revision whose values are erased; -1: none. */
  readonly stream: string;
  readonly until: number;
  /** What is in the place of each erased field. */
  readonly fields: Fields;
};

/** In the same stream, after the log was written again without the values: what it has in their place, so that it stays so. */
export type ErasedBytesRemoved = EventOf<
  'ErasedBytesRemoved',
  {
    /** Events before it that have lost values. */
    readonly events: number;
    /** Over the hashes of their leaves as they are now, in log order; in hex. */
    readonly sha256: string;
  }
>;

type ErasedUser = { readonly tenant: string; readonly userId: number };

type ReadEvent = EventOf<string, unknown> & {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly metadata: { readonly tenant: string; readonly actor: Actor };
};
type Actor = { readonly kind: string; readonly id: string; readonly name?: string };

/** @param place position of the event that records it: copies elsewhere that were made before it are erased as well */
type Erasure = ErasedRecord & { readonly place: number };
type Place = Pick<ReadEvent, 'stream' | 'revision' | 'position'>;

type OfTenant = {
  /** By table, then by id; the latest first, so that the earliest has the last word. */
  readonly records: Map<string, Map<string, readonly Erasure[]>>;
  readonly users: Set<string>;
};

/**
 * What is in the place of a field's value; undefined if the field cannot be erased: what the service sets, and what says
 * where a part belongs.
 * @param mark in the place of a unique key, which must stay unique
 */
export function erasedValue(
  { fields, uniqueField, custom }: AssetType,
  name: string,
  mark: string,
): FieldValue | undefined {
  const field = fields.find((each) => each.name === name);
  if (field === undefined || field.readOnly === true || field.format !== undefined || field.oneOf !== undefined)
    return undefined;
  if (name === uniqueField) return mark;
  if (!field.required || field.custom === true || custom === true || field.list === true) return null;
  return fieldRules(field.type).erased;
}

/** The erasures of a log. */
export class Erasures {
  readonly #tenants = new Map<string, OfTenant>();
  #count = 0;

  /** How many are known. What was made of the log while it was another number may show what is erased now. */
  get count(): number {
    return this.#count;
  }

  /** @param position of the event */
  add({ data }: Pick<ErasureRecorded, 'data'>, position: number): void {
    this.#count += 1;
    const of = this.#tenants.get(data.tenant) ?? { records: new Map(), users: new Set() };
    this.#tenants.set(data.tenant, of);
    if ('userId' in data) of.users.add(String(data.userId));
    else {
      const ofTable = of.records.get(data.table) ?? new Map<string, readonly Erasure[]>();
      of.records.set(data.table, ofTable);
      ofTable.set(data.id, [{ ...data, place: position }, ...(ofTable.get(data.id) ?? [])]);
    }
  }

  /** The same event if nothing of it is erased. */
  redact<Event extends ReadEvent>(event: Event): Event {
    return this.redaction(event).event;
  }

  /** @returns the event without what is erased, and whether an erasure concerns it, even if the values are gone already */
  redaction<Event extends ReadEvent>(event: Event): { readonly event: Event; readonly concerned: boolean } {
    const of = this.#tenants.get(event.metadata.tenant);
    if (of === undefined) return { event, concerned: false };
    const made = new Redaction(of, event);
    const data = made.data(event);
    const actor = made.actor(event.metadata.actor);
    if (!made.changed) return { event, concerned: made.concerned };
    return { event: { ...event, data, metadata: { ...event.metadata, actor } }, concerned: true };
  }

  actor<Kind extends Actor>(tenant: string, actor: Kind): Kind {
    const of = this.#tenants.get(tenant);
    return of === undefined ? actor : new Redaction(of).actor(actor);
  }

  isErasedUser(tenant: string, userId: string): boolean {
    return this.#tenants.get(tenant)?.users.has(userId) ?? false;
  }
}

type Json = { readonly [name: string]: unknown };
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A record that an event has values of. */
type About = { readonly table: string; readonly id: string };

/** One event, or another thing of one place, without what is erased there. */
class Redaction {
  readonly #of: OfTenant;
  readonly #place: Place;
  changed = false;
  concerned = false;

  constructor(of: OfTenant, place: Place = { stream: '', revision: 0, position: 0 }) {
    this.#of = of;
    this.#place = place;
  }

  actor<Kind extends Actor>(actor: Kind): Kind {
    if (actor.kind !== 'user' || !this.#of.users.has(actor.id)) return actor;
    return { ...actor, name: this.#instead(actor.name ?? ERASED, ERASED) };
  }

  data({ stream, type, data }: Pick<ReadEvent, 'stream' | 'type' | 'data'>): unknown {
    const { category, rest } = parseStream(stream);
    const { records, users } = this.#of;
    switch (category) {
      case 'table':
        return records.has(rest) ? this.#event(data, { table: rest, id: '' }) : data;
      case 'order':
        return this.#event(data, { table: this.#orderTable(rest), id: rest });
      case 'users':
        return type === 'UserRemoved' ? data : this.#user(data);
      case 'request':
        return records.size > 0 || users.size > 0 ? this.#anything(data) : data;
      default:
        return data;
    }
  }

  /** An event's data or a part of it. Tables and ids that it does not name are those of its stream. */
  #event(data: unknown, of: About): unknown {
    if (!isObject(data)) return data;
    const { table = of.table, id = of.id } = data;
    const about = { table: String(table), id: String(id) };
    return Object.fromEntries(
      Object.entries(data).map(([name, value]) => [name, this.#member(name, value, data, about)]),
    );
  }

  /** Members that hold values of records, wherever an event has them. */
  #member(name: string, value: unknown, data: Json, about: About): unknown {
    switch (name) {
      case 'fields':
        return this.#fields(value as Fields, about, true);
      case 'set':
        return this.#fields(value as Fields, about);
      case 'was':
        return Object.values(this.#fields(namedValues(data.set as Fields, value as readonly FieldValue[]), about));
      case 'changes': {
        const side = (of: 'from' | 'to') => this.#fields(sideOf(value as Changes, of), about);
        return changesOf(side('from'), side('to'));
      }
      case 'reasons':
        return this.#reasons(value as readonly string[], about);
      case 'errorReason': {
        const shown = this.#reasons((value ?? []) as readonly string[], about);
        return shown.length === 0 ? null : shown;
      }
      case 'override': {
        const { reason } = value as { readonly reason: string };
        const [instead = ERASED] = this.#reasons(reason === ERASED ? [] : [reason], about);
        return { ...(value as object), reason: instead };
      }
      case 'snapshot':
        return this.#snapshot(value as ExportSnapshot);
      case 'approver':
        return this.#approver(value as Approver);
      default:
        return Array.isArray(value) ? value.map((each) => this.#event(each, about)) : value;
    }
  }

  /** @param isComplete null stands for no value, and is left out */
  #fields<Kind extends Fields>(fields: Kind, { table, id }: About, isComplete = false): Kind {
    const shown: { [field: string]: FieldValue } = { ...fields };
    for (const [name, instead] of this.#erased(table, id)) {
      const value = ownValue(shown, name) ?? null;
      if (value === null) continue;
      shown[name] = this.#instead(value, instead);
      if (instead === null && isComplete) delete shown[name];
    }
    return shown as Kind;
  }

  /**
   * Reasons are the texts of the field `error_reason`, also where an event has them under another name. None are what is
   * left of those that were erased.
   */
  #reasons(reasons: readonly string[], about: About): readonly string[] {
    const { error_reason } = this.#fields({ error_reason: reasons.length === 0 ? null : reasons }, about);
    return error_reason ?? [];
  }

  #snapshot({ table, order, parts, related }: ExportSnapshot): ExportSnapshot {
    const shown = <Kind extends RecordView>(record: Kind, of: string): Kind =>
      this.#fields(record, { table: of, id: record.id });
    const records = Object.entries(related).map(([name, byKey]) => {
      const ofTable = Object.entries(byKey).map(([key, record]) => [key, shown(record, name)] as const);
      return [name, Object.fromEntries(ofTable)] as const;
    });
    return {
      table,
      order: shown(order, table),
      parts: parts.map((part) => ({ ...part, record: shown(part.record, part.table) })),
      related: Object.fromEntries(records),
    };
  }

  #approver<Kind extends Pick<Approver, 'id' | 'email'>>(approver: Kind): Kind {
    if (!this.#of.users.has(String(approver.id))) return approver;
    this.#instead(approver.email, NO_EMAIL);
    return { ...approver, first_name: ERASED, last_name: ERASED, email: NO_EMAIL };
  }

  #user(data: unknown): unknown {
    if (!isObject(data) || !this.#of.users.has(String(data.id))) return data;
    const shown: { [name: string]: unknown } = { ...data };
    for (const [name, instead] of Object.entries(USER_ERASED))
      if (typeof shown[name] === 'string') shown[name] = this.#instead(shown[name], instead);
    return shown;
  }

  /** An answer that is kept for a repeated request: records of any table, wherever they stand in it. */
  #anything(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#anything(each));
    if (!isObject(value)) return value;
    const members = Object.entries(value).map(([name, member]) => [name, this.#anything(member)] as const);
    let shown: Fields = Object.fromEntries(members) as Fields;
    const { id, email } = shown;
    if (typeof email === 'string' && typeof id === 'number') return this.#approver({ ...shown, id, email });
    for (const table of typeof id === 'string' ? this.#of.records.keys() : [])
      shown = this.#fields(shown, { table, id: String(id) });
    return shown;
  }

  /** Each erased field of the record at this place, with what is in its place; the last one counts. */
  *#erased(table: string, id: string): Generator<[name: string, instead: FieldValue]> {
    for (const erasure of this.#of.records.get(table)?.get(id) ?? []) {
      if (!covers(erasure, this.#place)) continue;
      this.concerned = true;
      yield* Object.entries(erasure.fields);
    }
  }

  #instead<Value extends FieldValue>(value: Value, instead: Value): Value {
    this.concerned = true;
    if (value !== instead) this.changed = true;
    return instead;
  }

  /** The table of the erased order; '' if it is not erased. */
  #orderTable = (orderId: string): string =>
    [...this.#of.records].find(([, ofTable]) => ofTable.get(orderId)?.[0]?.stream === this.#place.stream)?.[0] ?? '';
}

const USER_ERASED = { email: NO_EMAIL, firstName: ERASED, lastName: ERASED, passwordHash: '' } as const;

/** In its own stream by revision, as positions differ between copies of a log; copies elsewhere by position. */
const covers = ({ stream, until, place }: Erasure, at: Place): boolean =>
  at.stream === stream ? at.revision <= until : at.position < place;
