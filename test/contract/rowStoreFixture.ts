/** A table of places, and a tenant that writes rows into it as the follower would. */
import { randomUUID } from 'node:crypto';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { keyOf, type Row } from '#app/domain/spaces.js';
import type {
  PageQuery,
  RowReads,
  RowsQuery,
  RowWrite,
  RowWriter,
  Sort,
  StoredRow,
  VersionQuery,
} from '#app/ports/rowStore.js';
import { textField } from '../fixtures/textField.js';

export type RowsUnderTest = { readonly writer: RowWriter; readonly reads: RowReads };
/** The suite closes what it opened. */
export type OpenRows = () => Promise<RowsUnderTest>;

/** More sought fields than an engine need have columns for: f20 is the last. */
const others = Array.from({ length: 20 }, (_, n) => textField(`f${n + 1}`));

export const places = {
  name: 'places',
  label: 'Places',
  description: 'Places to test with.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'code',
  fields: [
    textField('code', { required: true }),
    textField('name'),
    textField('size', { type: 'Decimal' }),
    textField('open', { type: 'Boolean' }),
    textField('tags', { list: true }),
    textField('notes', { type: 'LongText', filterable: false, sortable: false }),
    ...others,
  ],
  relationships: [],
} as const satisfies AssetType;

/** The n-th second of a day. */
export const time = (n: number): string =>
  new Date(Date.UTC(2026, 10, 21) + n * 1000).toISOString().replace('Z', '000Z');

export class Tenant {
  readonly places;
  position = 0;
  readonly #store: RowsUnderTest;

  constructor(
    store: RowsUnderTest,
    readonly name: string,
  ) {
    this.#store = store;
    this.places = { tenant: name, space: 'places' };
  }

  /** A row that the next event makes. @param back how many events ago it was made instead */
  row(fields: Fields, { id = randomUUID(), back = 0 }: { readonly id?: string; readonly back?: number } = {}): Row {
    const from = this.position + 1 - back;
    return { id, key: keyOf(places, fields), from, created: time(from), updated: time(from), batch: null, fields };
  }

  put(row: Row, was?: Row): RowWrite {
    return { kind: 'put', space: 'places', row, was };
  }

  /** Applies what the next event does. */
  async apply(...writes: readonly RowWrite[]): Promise<void> {
    this.position += 1;
    while (!(await this.#store.writer.apply(this.name, { position: this.position, writes })));
  }

  /** New rows, of one event. */
  async fill<const All extends readonly Fields[]>(...all: All): Promise<{ readonly [Each in keyof All]: Row }> {
    const rows = all.map((fields) => this.row(fields));
    await this.apply(...rows.map((row) => this.put(row)));
    // As many as there were fields.
    return rows as { readonly [Each in keyof All]: Row };
  }

  rows(query: RowsQuery) {
    return this.#store.reads.rows(this.places, query);
  }

  page(query: Partial<PageQuery>, space = 'places') {
    return this.#store.reads.page(
      { tenant: this.name, space },
      {
        conditions: [],
        sort: [{ field: 'n', direction: 'asc' }],
        offset: 0,
        limit: 100,
        withTotal: false,
        maxCharacters: 1e6,
        ...query,
      },
    );
  }

  async ids(query: Partial<PageQuery>) {
    return idsOf((await this.page(query)).rows);
  }

  /** The row's number in the order of creation. */
  async n({ id }: Row): Promise<number> {
    return (await this.page({ conditions: [{ kind: 'ids', from: id, to: id }] })).rows[0]?.n ?? -1;
  }

  async versions(query: Partial<VersionQuery>) {
    return (await this.#store.reads.versions(this.places, { limit: 100, ...query })).versions;
  }

  progress() {
    return this.#store.reads.progress(this.name);
  }
}

/** `name desc` is a term in descending order. */
export const by = (...terms: readonly string[]): readonly Sort[] =>
  terms.map((term) => ({
    field: term.split(' ')[0] ?? '',
    direction: term.endsWith(' desc') ? 'desc' : 'asc',
  }));

/** As it is found, but for its number. */
export const stored = ({ fields, ...row }: Row): Omit<StoredRow, 'n'> => ({
  ...row,
  key: keyOf(places, fields),
  data: JSON.stringify(fields),
});

export const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);
