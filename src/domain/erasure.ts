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
import type { Approver, ExportSnapshot } from './order/events.js';
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
  /** By id; the latest first, so that the earliest has the last word. */
  readonly records: Map<string, readonly Erasure[]>;
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

  /** @param position of the event */
  add({ data }: Pick<ErasureRecorded, 'data'>, position: number): void {
    const of = this.#tenants.get(data.tenant) ?? { records: new Map(), users: new Set() };
    this.#tenants.set(data.tenant, of);
    if ('userId' in data) of.users.add(String(data.userId));
    else of.records.set(data.id, [{ ...data, place: position }, ...(of.records.get(data.id) ?? [])]);
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
    const shown = { data: made.data(event), metadata: { ...event.metadata, actor: made.actor(event.metadata.actor) } };
    return { event: made.changed ? { ...event, ...shown } : event, concerned: made.concerned };
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

/** A record that an event has values of. In an order's own events the table is '': the stream says which order. */
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
    switch (category) {
      case 'table':
        return this.#event(data, { table: rest, id: '' });
      case 'order':
        return this.#event(data, { table: '', id: rest });
      case 'users':
        return type === 'UserRemoved' ? data : this.#user(data);
      case 'request':
        return this.#answer(data);
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
        return this.#reasons(value as readonly string[], about) ?? [];
      case 'errorReason':
        return this.#reasons((value ?? []) as readonly string[], about);
      case 'override': {
        const { reason } = value as { readonly reason: string };
        const [instead = ERASED] = this.#reasons(reason === ERASED ? [] : [reason], about) ?? [];
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
    for (const erasure of this.#of.records.get(id) ?? []) {
      if ((table !== '' && erasure.table !== table) || !covers(erasure, this.#place)) continue;
      this.concerned = true;
      for (const [name, instead] of Object.entries(erasure.fields)) {
        const value = ownValue(shown, name) ?? null;
        if (value === null) continue;
        shown[name] = this.#instead(value, instead);
        if (instead === null && isComplete) delete shown[name];
      }
    }
    return shown as Kind;
  }

  /** Reasons are the texts of the field `error_reason`, also where an event has them under another name; null: none. */
  #reasons(reasons: readonly string[], about: About): readonly string[] | null {
    const { error_reason } = this.#fields({ error_reason: reasons.length === 0 ? null : reasons }, about);
    return error_reason ?? null;
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

  #approver(approver: Approver): Approver {
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

  /** Answers that earlier releases kept for repeated requests: their records, which nobody reads, are left out as a whole. */
  #answer(data: unknown): unknown {
    if (!isObject(data)) return data;
    this.concerned = true;
    const { record, lists, ...rest } = data;
    if (record !== undefined || lists !== undefined) this.changed = true;
    return rest;
  }

  #instead<Value extends FieldValue>(value: Value, instead: Value): Value {
    this.concerned = true;
    if (value !== instead) this.changed = true;
    return instead;
  }
}

const USER_ERASED = { email: NO_EMAIL, firstName: ERASED, lastName: ERASED, passwordHash: '' } as const;

/** In its own stream by revision, as positions differ between copies of a log; copies elsewhere by position. */
const covers = ({ stream, until, place }: Erasure, at: Place): boolean =>
  at.stream === stream ? at.revision <= until : at.position < place;
