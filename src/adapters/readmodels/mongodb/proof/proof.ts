/** The proof of the served copy, or of a rebuild's, on MongoDB. */
import { MongoServerError } from 'mongodb';
import type { ProofPart, ProofQuestion, ProofSlice, ReadModelProof } from '../../../../ports/readModelProof.js';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';
import {
  behindRecords,
  type EntryRow,
  EVENTS_PASS,
  ofEvents,
  recordEventComparison,
  sizeOfEntry,
} from '../../shared/entryProof.js';
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
import { catalogOf, KINDS, recordsOf, type StoredEntry, wholeEntries } from '../catalog.js';
import { indexesFor } from '../catalogWriter.js';
import type { LaneDb } from '../connection.js';
import { shapeOf } from '../recordDocument.js';
import { recordEventRows, recordEventsIn } from '../recordEvents.js';
import { comparisonOf, type EntryDocument, entryRows } from './entries.js';
import { recordComparison, recordRows, sizeOf } from './records.js';

/** What a part is in the catalog. */
type Entries = { readonly live?: StoredEntry | undefined; readonly copy?: StoredEntry | undefined };

type Access = {
  /** Runs reads, after all that was applied so far is written. */
  readonly run: <Result>(work: (db: LaneDb) => Promise<Result>) => Promise<Result>;
  /** Whether the served copy is held, and was since the reads before this question, with no commit half-way. */
  readonly isHeldBetweenCommits: (db: LaneDb) => Promise<boolean>;
};

type Slice = Omit<ProofSlice, 'exact'>;

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

  async #entries(db: LaneDb, { tenant, table }: ProofPart): Promise<Entries> {
    const rebuild = { $in: [null, this.#rebuild] };
    const found = await wholeEntries(db, { kind: this.#kind, tenant, table: table ?? '', rebuild });
    return {
      live: found.find(({ rebuild }) => rebuild === null),
      copy: found.find(({ rebuild }) => rebuild !== null),
    };
  }

  /** Runs reads of both sides, which may see the served one while it changes. */
  #compared(compare: (db: LaneDb) => Promise<Slice>): Promise<ProofSlice> {
    return this.#access.run(async (db) => {
      const slice = await compare(db);
      return { ...slice, exact: await this.#access.isHeldBetweenCommits(db) };
    });
  }

  readonly slice: ReadModelProof['slice'] = (part, question) =>
    this.#compared(async (db) => {
      const entries = await this.#entries(db, part);
      const looked = (question.subject === 'live' ? entries.live : entries.copy) ?? entries.copy;
      if (looked === undefined) return { records: 0, differences: [] };
      if (this.#kind === 'records') {
        if (question.after?.startsWith(EVENTS_PASS)) return this.#recordEvents(db, part, question, entries);
        const rowsOf = (entry: StoredEntry) => recordRows(recordsOf(db, entry), shapeOf(entry), question.after);
        const comparison = recordComparison(looked.collection, shapeOf(looked));
        const slice = await this.#sides(part, question, entries, comparison, rowsOf, sizeOf);
        return behindRecords(slice, question.subject);
      }
      const kind = this.#kind;
      const comparison = comparisonOf(kind, question.droppedBefore);
      const rowsOf = (entry: StoredEntry) => entryRows(db.part<EntryDocument>(entry), kind, question.after);
      return this.#sides(part, question, entries, comparison, rowsOf, sizeOfEntry);
    });

  async #recordEvents(db: LaneDb, part: ProofPart, question: ProofQuestion, entries: Entries): Promise<Slice> {
    const after = question.after?.slice(EVENTS_PASS.length);
    const rowsOf = ({ events }: StoredEntry) =>
      events ? recordEventRows(recordEventsIn(db, events), after) : nothing<EntryRow>();
    return ofEvents(await this.#sides(part, question, entries, recordEventComparison, rowsOf, sizeOfEntry));
  }

  async #sides<Row extends Keyed>(
    part: ProofPart,
    { subject }: ProofQuestion,
    { live, copy }: Entries,
    comparison: Comparison<Row>,
    rowsOf: (entry: StoredEntry) => AsyncIterable<Row>,
    size: (row: Row) => number,
  ): Promise<Slice> {
    // Reads the collection once, as some servers read all of it for each slice.
    if (subject === 'copy') return lookThrough(part, copy?.made ? rowsOf(copy) : [], comparison);
    const side = (entry: StoredEntry | undefined) => sideOf(entry?.made ? rowsOf(entry) : [], size);
    return compareSides(part, await side(live), await side(copy), comparison);
  }

  readonly structure: ReadModelProof['structure'] = (part, { subject }) =>
    this.#compared(async (db) => {
      const entries = await this.#entries(db, part);
      const served = subject === 'live' ? entries.live : entries.copy;
      const findings = [
        ...(subject === 'live' && this.#kind === 'records' ? catalogFindings(CATALOG, entries.live, entries.copy) : []),
        ...(served?.made && !served.indexing ? await missingIndexes(db, served) : []),
      ];
      const counted = this.#kind === 'records' ? served?.count : undefined;
      return { records: 0, differences: inPart(part, findings), counted };
    });

  /** Each tenant has collections of its own. */
  readonly shared: ReadModelProof['shared'] = async () => [];
}

async function* nothing<Row>(): AsyncGenerator<Row> {}

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
