import type { AssetField } from '#app/domain/assetTypes/assetType.js';
import type { Fields, FieldValue } from '#app/domain/assetTypes/fieldTypes.js';
import type { FieldFilter, Filter } from '#app/queries/conditions.js';
import type { RecordQuery } from '#app/queries/records.js';
import type { RecordChange } from '../support/writtenRows.js';

type NaiveRecord = {
  readonly id: string;
  readonly created_at: string;
  updated_at: string;
  batchId: string | null;
  fields: Record<string, FieldValue>;
};

/** A step of a test: like a change, but naming records by a number that is taken modulo how many there are. */
type Step =
  | { kind: 'insert'; records: { id: string; at: string; batchId: string | null; fields: Record<string, unknown> }[] }
  | { kind: 'patch'; pick: number; at: string; batchId: string | null | undefined; set: Record<string, unknown> }
  | { kind: 'delete'; pick: number }
  | { kind: 'seen'; from: number; batchId: string | null }
  | { kind: 'cleanUp'; batchId: string };

const fold = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
const matchText = (value: FieldValue): string => fold(typeof value === 'string' ? value : JSON.stringify(value));

/** Records in an array, queried by reading all of them: what the read models must answer alike. */
export class NaiveTable {
  #records: NaiveRecord[] = [];
  #keys = 0;

  constructor(readonly fields: readonly AssetField[]) {}

  changesOf(step: Step): RecordChange[] {
    if (step.kind === 'insert') {
      const taken = new Set(this.#records.map(({ id }) => id));
      return step.records.flatMap(({ id, at, batchId, fields }): RecordChange[] => {
        if (taken.has(id)) return [];
        taken.add(id);
        this.#keys += 1;
        const key = `Key-${this.#keys % 7}.${this.#keys}`;
        return [{ kind: 'insert', id, at, batchId, fields: { ...(fields as Fields), key } }];
      });
    }
    const count = this.#records.length;
    if (step.kind === 'seen') {
      return [
        { kind: 'seen', ids: this.#records.slice(step.from % (count + 1)).map(({ id }) => id), batchId: step.batchId },
      ];
    }
    if (step.kind === 'cleanUp') return [step];
    const record = this.#records[step.pick % Math.max(1, count)];
    if (record === undefined) return [];
    if (step.kind === 'delete') return [{ kind: 'delete', id: record.id }];
    const { at, batchId, set } = step;
    return [{ kind: 'patch', id: record.id, at, set: set as Fields, ...(batchId === undefined ? {} : { batchId }) }];
  }

  apply(changes: readonly RecordChange[]): void {
    for (const change of changes) this.#apply(change);
  }

  #apply(change: RecordChange): void {
    switch (change.kind) {
      case 'insert':
        this.#records.push({
          id: change.id,
          created_at: change.at,
          updated_at: change.at,
          batchId: change.batchId,
          fields: { ...change.fields },
        });
        break;
      case 'patch':
        for (const record of this.#records.filter(({ id }) => id === change.id)) {
          record.updated_at = change.at;
          if (change.batchId !== undefined) record.batchId = change.batchId;
          Object.assign(record.fields, change.set);
        }
        break;
      case 'delete':
        this.#records = this.#records.filter(({ id }) => id !== change.id);
        break;
      case 'seen':
        for (const record of this.#records) if (change.ids.includes(record.id)) record.batchId = change.batchId;
        break;
      case 'cleanUp':
        this.#records = this.#records.filter(({ batchId }) => batchId === change.batchId);
        break;
    }
  }

  list(query: RecordQuery): { total: number; records: unknown[] } {
    const found = this.#records.filter((record) => query.filters.every((filter) => this.#fulfils(record, filter)));
    // Without a sort: in order of creation, as they are.
    const matches = query.sort.length === 0 ? found : found.toSorted((a, b) => this.#compare(a, b, query));
    return {
      total: matches.length,
      records: matches.slice(query.offset, query.offset + query.limit).map((record) => this.#shown(record)),
    };
  }

  #shown({ id, created_at, updated_at, fields }: NaiveRecord): unknown {
    const own = this.fields.map(({ name }) => [name, fields[name] ?? null]);
    return { id, created_at, updated_at, ...Object.fromEntries(own) };
  }

  #fulfils(record: NaiveRecord, filter: Filter): boolean {
    return filter.kind === 'any'
      ? filter.anyOf.some((each) => this.#fulfilsOne(record, each))
      : this.#fulfilsOne(record, filter);
  }

  #fulfilsOne(record: NaiveRecord, filter: FieldFilter): boolean {
    if (filter.kind === 'begins') return record.id.startsWith(filter.with.toLowerCase());
    const { field } = filter;
    const value = field === 'created_at' || field === 'updated_at' ? record[field] : (record.fields[field] ?? null);
    if (filter.kind === 'null') return (value === null) === filter.isNull;
    if (filter.kind === 'differs') return !filter.anyOf.some((one) => one === value);
    if (value === null) return false;
    if (filter.kind === 'contains')
      return filter.anyOf.some((one) => one.isWellFormed() && matchText(value).includes(fold(one)));
    if (filter.kind === 'compares') {
      const order = compareValues(this.#sortValue(record, field), foldedText(filter.value, field));
      return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[filter.is];
    }
    return filter.anyOf.some((one) => one === value);
  }

  #compare(a: NaiveRecord, b: NaiveRecord, { sort }: RecordQuery): number {
    const last = sort.at(-1)?.direction ?? 'asc';
    for (const { field, direction } of [...sort, { field: 'id', direction: last }]) {
      const order = compareValues(this.#sortValue(a, field), this.#sortValue(b, field));
      if (order !== 0) return direction === 'asc' ? order : -order;
    }
    return 0;
  }

  #sortValue(record: NaiveRecord, field: string): string | number | null {
    if (field === 'id' || field === 'created_at' || field === 'updated_at') return record[field];
    const value = record.fields[field] ?? null;
    if (value === null || typeof value === 'number') return value;
    return typeof value === 'boolean' ? Number(value) : matchText(value);
  }
}

/** A text as lists are sorted by it; times of the record are not folded. */
const foldedText = (value: string | number, field: string): string | number =>
  typeof value === 'number' || field.endsWith('_at') ? value : matchText(value);

/** Null first; text by code point. */
function compareValues(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}
