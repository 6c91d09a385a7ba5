/**
 * Erasure (GDPR article 17): which values of the log's past are no longer shown, and events without them. An erasure concerns
 * what was written before it; what is written later is shown.
 */
import { ERASED, type Fields, type FieldValue, ownValue } from './assetTypes/fieldTypes.js';
import { isObject } from './assetTypes/recordSchema.js';
import type { EventOf, ReadEvent } from './eventTypes.js';
import { withoutNulls } from './referenceTable/decide.js';
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

type Actor = ReadEvent['metadata']['actor'];

/** @param place position of the event that records it: copies elsewhere that were made before it are erased as well */
type Erasure = ErasedRecord & { readonly place: number };
type Place = Pick<ReadEvent, 'stream' | 'revision' | 'position'>;

type OfTenant = {
  /** By id; the latest first, so that the earliest has the last word. */
  readonly records: Map<string, readonly Erasure[]>;
  readonly users: Set<string>;
};

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

/** A record that an event has values of. In an order's own events the table is '': the stream says which order. */
type About = { readonly table: string; readonly id: string };

const USER_ERASED = { email: NO_EMAIL, firstName: ERASED, lastName: ERASED, passwordHash: '' } as const;
const SIGN_IN_ERASED = { network: ERASED, userAgent: ERASED } as const;
const APPROVER_ERASED = { email: NO_EMAIL, first_name: ERASED, last_name: ERASED } as const;

/** One event, or another thing of one place, without what is erased there. */
class Redaction {
  changed = false;
  concerned = false;

  constructor(
    private readonly of: OfTenant,
    private readonly place: Place = { stream: '', revision: 0, position: 0 },
  ) {}

  actor<Kind extends Actor>(actor: Kind): Kind {
    return actor.kind === 'user' ? this.#person(actor, { name: ERASED }) : actor;
  }

  data({ stream, type, data }: Pick<ReadEvent, 'stream' | 'type' | 'data'>): unknown {
    const { category, rest } = parseStream(stream);
    if (!isObject(data)) return data;
    if (category === 'table') return this.#walk(data, { table: rest, id: '' });
    if (category === 'order') return this.#walk(data, { table: '', id: rest });
    if (category === 'users' && type !== 'UserRemoved') return this.#person(data, USER_ERASED);
    if (category === 'session') return this.#person(data, SIGN_IN_ERASED, data.userId);
    if (category !== 'request') return data;
    // Answers that earlier releases kept for repeated requests: their records, which nobody reads, are left out as a whole.
    const { record, lists, ...others } = data;
    this.concerned = true;
    if (record !== undefined || lists !== undefined) this.changed = true;
    return others;
  }

  /** An event's data or a part of it. Tables and ids that it does not name are those around it. */
  #walk(data: Json, outer: About): Json {
    const { table = outer.table, id = outer.id } = data;
    const about = { table: String(table), id: String(id) };
    return mapped(data, (value, name) => this.#member(name, value, data, about));
  }

  /** Members that hold values of records or people, wherever an event has them. */
  #member(name: string, value: unknown, data: Json, about: About): unknown {
    if (name === 'errorReason') return this.#reasons((value ?? []) as readonly unknown[], about);
    if (Array.isArray(value)) {
      if (name === 'was')
        return Object.values(this.#record(namedValues(data.set as Fields, value as readonly FieldValue[]), about));
      if (name === 'reasons') return this.#reasons(value, about) ?? [];
      return value.map((each) => (isObject(each) ? this.#walk(each, about) : each));
    }
    if (!isObject(value)) return value;
    switch (name) {
      case 'fields':
        return withoutNulls(this.#record(value, about) as Fields);
      case 'set':
      case 'changes':
        return this.#record(value, about);
      // The others are in the snapshot of an approval.
      case 'order':
      case 'record':
        return this.#record(value, { ...about, id: String(value.id) });
      case 'related':
        return mapped(value, (byKey, table) =>
          mapped(byKey as Json, (record) => this.#record(record as Json, { table, id: String((record as Json).id) })),
        );
      case 'approver':
        return this.#person(value, APPROVER_ERASED);
      case 'override': {
        const [reason = ERASED] = this.#reasons(value.reason === ERASED ? [] : [value.reason], about) ?? [];
        return { ...value, reason };
      }
      default:
        return this.#walk(value, about);
    }
  }

  /** Reasons are the texts of the field `error_reason`, also where an event has them under another name; null: none. */
  #reasons(reasons: readonly unknown[], about: About): readonly unknown[] | null {
    const { error_reason } = this.#record({ error_reason: reasons.length === 0 ? null : reasons }, about);
    return error_reason as readonly unknown[] | null;
  }

  /** @param values by field, or each field's change */
  #record(values: Json, { table, id }: About): Json {
    const erasures = (this.of.records.get(id) ?? []).filter(
      (erasure) => (table === '' || erasure.table === table) && covers(erasure, this.place),
    );
    return erasures.length === 0
      ? values
      : this.#replaced(values, Object.assign({}, ...erasures.map(({ fields }) => fields)));
  }

  #person<Kind extends object>(person: Kind, erased: Fields, id = (person as Json).id): Kind {
    const isErased = this.of.users.has(String(id));
    return isErased ? (this.#replaced(person as Json, erased) as Kind) : person;
  }

  /** Null, and what is not there, stays. */
  #replaced(values: Json, erased: Fields): Json {
    this.concerned = true;
    return mapped(values, (value, name) => {
      const instead = ownValue(erased, name);
      if (instead === undefined || value === null) return value;
      // Before and after a change.
      if (isObject(value)) return this.#replaced(value, { from: instead, to: instead });
      if (value !== instead) this.changed = true;
      return instead;
    });
  }
}

const mapped = (object: Json, shown: (value: unknown, name: string) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, shown(value, name)]));

/** In its own stream by revision, as positions differ between copies of a log; copies elsewhere by position. */
const covers = ({ stream, until, place }: Erasure, at: Place): boolean =>
  at.stream === stream ? at.revision <= until : at.position < place;
