/**
 * Erasure (GDPR article 17): which values of the log's past are no longer shown, and events without them. An erasure concerns
 * what was written before it; what is written later is shown.
 */
import type { AssetType } from './assetTypes/assetType.js';
import { type Fields, type FieldValue, ownValue } from './assetTypes/fieldTypes.js';
import type { EventOf } from './eventTypes.js';
import type { UserEvent } from './identity/events.js';
import type { Changes, OrderEvent, PartChanges, PartFields } from './order/events.js';
import type { ExportSnapshot } from './order/snapshot.js';
import type { ReferenceTableEvent } from './referenceTable/events.js';
import { parseStream } from './streams.js';

/** In place of a text that must not be null. */
export const ERASED = 'erased';
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
  if (field.type === 'String' || field.type === 'LongText') return ERASED;
  if (field.type === 'Boolean') return false;
  return field.type === 'Integer' || field.type === 'Decimal' ? 0 : null;
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
    return this.look(event).event;
  }

  /** @returns the event without what is erased, and whether an erasure concerns it, even if the values are gone already */
  look<Event extends ReadEvent>(event: Event): { readonly event: Event; readonly concerned: boolean } {
    const of = this.#tenants.get(event.metadata.tenant);
    if (of === undefined) return { event, concerned: false };
    const redaction = new Redaction(of, event);
    const data = redaction.data(event);
    const actor = redaction.actor(event.metadata.actor);
    if (!redaction.changed) return { event, concerned: redaction.concerned };
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
        return this.#of.records.has(rest) ? this.#ofTable({ type, data } as ReferenceTableEvent, rest) : data;
      case 'order':
        return this.#ofOrder({ type, data } as OrderEvent, rest);
      case 'users':
        return this.#ofUser({ type, data } as UserEvent);
      case 'request':
        return this.#of.records.size > 0 || this.#of.users.size > 0 ? this.#anything(data) : data;
      default:
        return data;
    }
  }

  /** @param isComplete null stands for no value, and is left out */
  fields<Kind extends Fields>(table: string, id: string, fields: Kind, isComplete = false): Kind {
    let redacted: { [field: string]: FieldValue } | undefined;
    for (const [name, instead] of this.#erased(table, id)) {
      const value = ownValue(redacted ?? fields, name) ?? null;
      if (value === null) continue;
      if (this.#instead(value, instead) === value) continue;
      redacted ??= { ...fields };
      if (instead === null && isComplete) delete redacted[name];
      else redacted[name] = instead;
    }
    return (redacted ?? fields) as Kind;
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

  #created = <Created extends { readonly id: string; readonly fields: Fields }>(
    table: string,
    created: Created,
  ): Created => {
    const fields = this.fields(table, created.id, created.fields, true);
    return fields === created.fields ? created : { ...created, fields };
  };

  #ofTable({ type, data }: ReferenceTableEvent, table: string): unknown {
    switch (type) {
      case 'RecordCreated':
        return this.#created(table, data);
      case 'RecordChanged':
        return this.#replaced(table, data);
      case 'BatchUpserted':
        return {
          ...data,
          created: data.created.map((each) => this.#created(table, each)),
          changed: data.changed.map((each) => this.#replaced(table, each)),
        };
      case 'BatchUndone':
        return {
          ...data,
          changed: data.changed.map((each) => ({ ...each, set: this.fields(table, each.id, each.set) })),
        };
      default:
        return data;
    }
  }

  #replaced<Replaced extends { readonly id: string; readonly set: Fields; readonly was?: readonly FieldValue[] }>(
    table: string,
    replaced: Replaced,
  ): Replaced {
    if (this.#of.records.get(table)?.has(replaced.id) !== true) return replaced;
    const names = Object.keys(replaced.set);
    const set = this.fields(table, replaced.id, replaced.set);
    const { was } = replaced;
    if (was === undefined) return { ...replaced, set };
    const before = Object.fromEntries(names.map((name, index) => [name, was[index] ?? null]));
    const shown = this.fields(table, replaced.id, before);
    return { ...replaced, set, was: names.map((name) => shown[name] ?? null) };
  }

  #ofOrder(event: OrderEvent, orderId: string): unknown {
    const { data } = event;
    switch (event.type) {
      case 'OrderCreated':
      case 'OrderCreatedWithParts': {
        const created = { ...data, fields: this.fields(event.data.table, orderId, event.data.fields, true) };
        return 'parts' in event.data ? { ...created, parts: event.data.parts.map(this.#part) } : created;
      }
      case 'OrderChanged':
        return { ...data, changes: this.#changes(this.#orderTable(orderId), orderId, event.data.changes) };
      case 'OrderPartAdded':
        return this.#part(event.data);
      case 'OrderPartChanged':
        return this.#changedPart(event.data);
      case 'OrderPartsChanged': {
        const { added, changed, removed } = event.data;
        const parts = { added: added.map(this.#part), changed: changed.map(this.#changedPart) };
        return { ...event.data, ...parts, removed: removed.map(this.#part) };
      }
      case 'OrderStatusChanged':
        return { ...data, errorReason: this.#errorReason(orderId, event.data.errorReason) };
      case 'OrderApproved': {
        const { snapshot, approver, override } = event.data;
        const given = override === undefined || override.reason === ERASED ? [] : [override.reason];
        const [reason = ERASED] = this.reasons(orderId, given);
        const why = override === undefined ? {} : { override: { ...override, reason } };
        return { ...data, snapshot: this.#snapshot(snapshot), approver: this.#approver(approver), ...why };
      }
      case 'OrderRejected':
      case 'OrderExportFailed':
      case 'OrderExportDelivered':
        return { ...data, reasons: this.reasons(orderId, event.data.reasons) };
      default:
        return data;
    }
  }

  #part = <Part extends PartFields>(part: Part): Part => this.#created(part.table, part);

  #changedPart = <Part extends PartChanges>(part: Part): Part => ({
    ...part,
    changes: this.#changes(part.table, part.id, part.changes),
  });

  #changes(table: string, id: string, changes: Changes): Changes {
    const shown = { ...changes };
    for (const [name, instead] of this.#erased(table, id)) {
      const change = Object.hasOwn(shown, name) ? shown[name] : undefined;
      if (change === undefined) continue;
      const value = (each: FieldValue) => (each === null ? null : this.#instead(each, instead));
      shown[name] = { from: value(change.from), to: value(change.to) };
    }
    return shown;
  }

  /** The table of the erased order; '' if it is not erased. */
  #orderTable = (orderId: string): string =>
    [...this.#of.records].find(([, ofTable]) => ofTable.get(orderId)?.[0]?.stream === this.#place.stream)?.[0] ?? '';

  #errorReason(orderId: string, given: readonly string[] | null): readonly string[] | null {
    const shown = this.reasons(orderId, given ?? []);
    return shown.length === 0 ? null : shown;
  }

  /**
   * Reasons are the texts of the field `error_reason`, also where an event has them under another name. None are what is
   * left of those that were erased.
   */
  reasons(orderId: string, reasons: readonly string[]): readonly string[] {
    const given = reasons.length === 0 ? null : reasons;
    const { error_reason } = this.fields(this.#orderTable(orderId), orderId, { error_reason: given });
    return (error_reason ?? []) as readonly string[];
  }

  #snapshot({ table, order, parts, related }: ExportSnapshot): ExportSnapshot {
    const records = Object.entries(related).map(([name, byKey]) => {
      const shown = Object.entries(byKey).map(([key, record]) => [key, this.fields(name, record.id, record)] as const);
      return [name, Object.fromEntries(shown)] as const;
    });
    return {
      table,
      order: this.fields(table, order.id, order),
      parts: parts.map((part) => ({ ...part, record: this.fields(part.table, part.record.id, part.record) })),
      related: Object.fromEntries(records),
    };
  }

  #approver<Approver extends { readonly id: number; readonly email: string }>(approver: Approver): Approver {
    if (!this.#of.users.has(String(approver.id))) return approver;
    this.#instead(approver.email, NO_EMAIL);
    return { ...approver, first_name: ERASED, last_name: ERASED, email: NO_EMAIL };
  }

  #ofUser({ type, data }: UserEvent): unknown {
    if (type === 'UserRemoved' || !this.#of.users.has(String(data.id))) return data;
    const shown: { [name: string]: unknown } = { ...data };
    for (const [name, instead] of Object.entries(USER_ERASED))
      if (typeof shown[name] === 'string') shown[name] = this.#instead(shown[name], instead);
    return shown;
  }

  /** An answer that is kept for a repeated request: records of any table, wherever they stand in it. */
  #anything(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#anything(each));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [name, this.#anything(member)] as const);
    let shown: Fields = Object.fromEntries(members) as Fields;
    if (typeof shown.email === 'string' && typeof shown.id === 'number')
      return this.#approver({ ...shown, id: shown.id, email: shown.email });
    for (const table of typeof shown.id === 'string' ? this.#of.records.keys() : [])
      shown = this.fields(table, String(shown.id), shown);
    return shown;
  }
}

const USER_ERASED = { email: NO_EMAIL, firstName: ERASED, lastName: ERASED, passwordHash: '' } as const;

/** In its own stream by revision, as positions differ between copies of a log; copies elsewhere by position. */
const covers = ({ stream, until, place }: Erasure, at: Place): boolean =>
  at.stream === stream ? at.revision <= until : at.position < place;
