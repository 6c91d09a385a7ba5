/** The proof of the served copy, or of a rebuild's, on MongoDB. */
import { MongoServerError } from 'mongodb';
import type { Position } from '../../../../ports/eventStore.js';
import type { ProofPart, ProofQuestion, ProofSlice, ReadModelProof } from '../../../../ports/readModelProof.js';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';
import { sizeOfEntry } from '../../shared/entryProof.js';
import {
  type Comparison,
  catalogFindings,
  compareSides,
  type Finding,
  inPart,
  type Keyed,
  lookThrough,
  sideOf,
} from '../../shared/proof.js';
import { catalogOf, KINDS, recordsOf, type StoredEntry } from '../catalog.js';
import { indexesFor } from '../catalogWriter.js';
import type { LaneDb } from '../connection.js';
import { shapeOf } from '../recordDocument.js';
import { deliveryComparison, type EntryDocument, entryRows, historyComparison } from './entries.js';
import { recordComparison, recordRows, sizeOf } from './records.js';

/** What a part is in the catalog. */
type Entries = { readonly live?: StoredEntry | undefined; readonly copy?: StoredEntry | undefined };

type Access = {
  /** Runs reads, after all that was applied so far is written. */
  readonly run: <Result>(work: (db: LaneDb) => Promise<Result>) => Promise<Result>;
  /** While the served copy is held: the position up to which some changes are written. */
  readonly heldUntil: () => Position | undefined;
};

const COLLECTION_MISSING = 26;

const CATALOG = ['count', 'revision', 'lastEventAt'] as const;

export class MongoProof implements ReadModelProof {
  readonly #access: Access;
  readonly #scope: RebuildScope;
  readonly #rebuild: string;

  constructor(access: Access, scope: RebuildScope, rebuild: string) {
    this.#access = access;
    this.#scope = scope;
    this.#rebuild = rebuild;
  }

  get #kind() {
    return KINDS[this.#scope.projection];
  }

  readonly parts: ReadModelProof['parts'] = () =>
    this.#access.run(async (db) => {
      const { tenant, table } = this.#scope;
      const entries = await catalogOf(db)
        .find(
          {
            kind: this.#kind,
            rebuild: { $in: [null, this.#rebuild] },
            ...(tenant === undefined ? {} : { tenant }),
            ...(table === undefined ? {} : { table }),
          },
          { projection: { tenant: 1, table: 1 } },
        )
        .toArray();
      const parts = new Map(entries.map((each) => [`${each.tenant}.${each.table}`, each]));
      return [...parts]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([, each]) => ({ tenant: each.tenant, table: each.table === '' ? null : each.table }));
    });

  #seen(): Pick<ProofSlice, 'exact' | 'until'> {
    const until = this.#access.heldUntil();
    return { exact: until !== undefined, until };
  }

  async #entries(db: LaneDb, { tenant, table }: ProofPart): Promise<Entries> {
    const found = await catalogOf(db)
      .find({ kind: this.#kind, tenant, table: table ?? '', rebuild: { $in: [null, this.#rebuild] } })
      .toArray();
    return {
      live: found.find(({ rebuild }) => rebuild === null),
      copy: found.find(({ rebuild }) => rebuild !== null),
    };
  }

  readonly slice: ReadModelProof['slice'] = (part, question) =>
    this.#access.run(async (db) => {
      const entries = await this.#entries(db, part);
      const looked = (question.subject === 'live' ? entries.live : entries.copy) ?? entries.copy;
      if (looked === undefined) return { records: 0, differences: [], ...this.#seen() };
      if (this.#kind === 'records') {
        const rowsOf = (entry: StoredEntry) => recordRows(recordsOf(db, entry), shapeOf(entry), question.after);
        return this.#sides(
          part,
          question,
          entries,
          recordComparison(looked.collection, shapeOf(looked)),
          rowsOf,
          sizeOf,
        );
      }
      const comparison = this.#kind === 'history' ? historyComparison() : deliveryComparison(question.droppedBefore);
      const rowsOf = ({ collection }: StoredEntry) =>
        entryRows(db.collection<EntryDocument>(collection), question.after);
      return this.#sides(part, question, entries, comparison, rowsOf, sizeOfEntry);
    });

  async #sides<Row extends Keyed>(
    part: ProofPart,
    { subject }: ProofQuestion,
    { live, copy }: Entries,
    comparison: Comparison<Row>,
    rowsOf: (entry: StoredEntry) => AsyncIterable<Row>,
    size: (row: Row) => number,
  ): Promise<ProofSlice> {
    if (subject === 'copy') {
      // Reads the collection once, as some servers read all of it for each slice.
      return { ...(await lookThrough(part, copy?.made ? rowsOf(copy) : [], comparison)), exact: true };
    }
    const side = (entry: StoredEntry | undefined) => sideOf(entry?.made ? rowsOf(entry) : [], size);
    return { ...compareSides(part, await side(live), await side(copy), comparison), ...this.#seen() };
  }

  readonly structure: ReadModelProof['structure'] = (part, { subject }) =>
    this.#access.run(async (db) => {
      const entries = await this.#entries(db, part);
      const served = subject === 'live' ? entries.live : entries.copy;
      const findings = [
        ...(subject === 'live' && this.#kind === 'records' ? catalogFindings(CATALOG, entries.live, entries.copy) : []),
        ...(served?.made ? await missingIndexes(db, served) : []),
      ];
      const counted = this.#kind === 'records' ? served?.count : undefined;
      return { records: 0, differences: inPart(part, findings), ...this.#seen(), counted };
    });

  /** Each tenant has collections of its own. */
  readonly shared: ReadModelProof['shared'] = async () => [];
}

async function missingIndexes(db: LaneDb, entry: StoredEntry): Promise<readonly Finding[]> {
  const place = entry.collection;
  const missing = (detail: string): Finding => ({ place, record: null, kind: 'missing', detail });
  try {
    const there = new Set(
      (await db.collection(place).listIndexes().toArray()).map(({ name, key }) => `${name} ${JSON.stringify(key)}`),
    );
    return indexesFor(entry, shapeOf(entry)).flatMap(({ name, key }) =>
      there.has(`${name} ${JSON.stringify(key)}`) ? [] : [missing(`The index ${name} is missing.`)],
    );
  } catch (error) {
    if (error instanceof MongoServerError && error.code === COLLECTION_MISSING) {
      return [missing('The collection is missing.')];
    }
    throw error;
  }
}
