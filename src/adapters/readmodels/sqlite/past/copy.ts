/**
 * A copy of one table in a file of its own, as it was at a position of the log. Nothing that serves writes it or waits for
 * it, and to drop it is to remove the file.
 */
import { rmSync, statSync } from 'node:fs';
import type { ReadModelRebuild } from '../../../../ports/readModelWriter.js';
import { nextTurn } from '../../../../supervision/waiting.js';
import { SMALL_ROWS } from '../../shared/smallTables.js';
import { openConnection } from '../connections.js';
import { LIVE } from '../ddl.js';
import type { TableLayout } from '../layout.js';
import { trigramTable } from '../ownTables.js';
import { CopyWriter } from '../write/copyWriter.js';

const CACHE_MEGABYTES = 32;
/** Pages of a text index that are merged at once: some milliseconds. */
const MERGED_PAGES = 500;

export class PastCopy extends CopyWriter {
  readonly writer: ReadModelRebuild['writer'] = this;

  /** Goes on with what the file has, if it is there. */
  constructor(file: string) {
    const db = openConnection({ file, cacheMegabytes: CACHE_MEGABYTES, readOnly: false });
    // After a crash the file is made again.
    db.pragma('synchronous = OFF');
    // Histories of records are read of the served copy.
    super(db, LIVE, SMALL_ROWS, false);
  }

  async begin(): Promise<void> {
    this.db.exec('BEGIN IMMEDIATE');
  }

  async commit(): Promise<void> {
    this.db.exec('COMMIT');
  }

  /** Merges the segments of text indexes, as every read visits each of them. @throws the signal's reason */
  async mergeIndexes(signal: AbortSignal): Promise<void> {
    const changes = this.db.prepare<[], number>('SELECT total_changes()').pluck();
    for (const index of this.#textIndexes()) {
      for (let pages = -MERGED_PAGES, before = -2; (changes.get() ?? 0) - before >= 2; pages = MERGED_PAGES) {
        signal.throwIfAborted();
        before = changes.get() ?? 0;
        this.db.prepare<[number]>(`INSERT INTO ${index} (${index}, rank) VALUES ('merge', ?)`).run(pages);
        await nextTurn();
      }
    }
  }

  #textIndexes(): readonly string[] {
    const large = this.db.prepare<[], { id: number; layout: string }>(
      'SELECT id, layout FROM catalog WHERE made = 1 AND small = 0',
    );
    return large.all().flatMap(({ id, layout }) => {
      const { trigramIndexes }: TableLayout = JSON.parse(layout);
      return Array.from({ length: trigramIndexes }, (_, number) => trigramTable(id, number));
    });
  }

  /** The last connection to close empties and removes the write-ahead log. */
  close(): void {
    this.db.close();
  }
}

/** The files that SQLite keeps beside a database. */
const filesOf = (file: string): readonly string[] => [file, `${file}-wal`, `${file}-shm`, `${file}-journal`];

export const bytesOfCopy = (file: string): number =>
  filesOf(file).reduce((sum, each) => sum + (statSync(each, { throwIfNoEntry: false })?.size ?? 0), 0);

export function removeCopy(file: string): void {
  for (const each of filesOf(file)) rmSync(each, { force: true });
}
