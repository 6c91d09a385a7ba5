/**
 * The proof that a rebuild ends with: the copy by itself. Each of its records has all that is stored beside it, as the
 * record says; the counts are right, and the indexes are there.
 */
import { setImmediate as pause } from 'node:timers/promises';
import type { Difference, ProofPart } from '../ports/readModelProof.js';
import type { ReadModelRebuild } from '../ports/readModelWriter.js';

const MOST_TOLD = 3;

/** The copy is not as it was written. The live read model stays as it was. */
export class UnprovenCopyError extends Error {
  override readonly name = 'UnprovenCopyError';
  constructor(differences: readonly Difference[]) {
    const told = differences
      .slice(0, MOST_TOLD)
      .map(({ tenant, table, place, record, detail }) =>
        [[tenant, table, place, record].filter((each) => each !== null).join(' '), detail].join(': '),
      );
    const more = differences.length - told.length;
    super(
      `What was rebuilt does not stand the proof. ${told.join(' ')}${more > 0 ? ` And ${more} more.` : ''} The live read model stays as it was.`,
    );
  }
}

/**
 * @param keep gives a sign of life where one is due
 * @throws UnprovenCopyError for the first table that does not stand it; the signal's reason
 */
export async function proveCopy(copy: ReadModelRebuild, keep: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (const part of await copy.proof.parts()) {
    let records = 0;
    let after: string | undefined;
    do {
      signal.throwIfAborted();
      await keep();
      const slice = await copy.proof.slice(part, { subject: 'copy', after });
      if (slice.differences.length > 0) throw new UnprovenCopyError(slice.differences);
      records += slice.records;
      after = slice.next;
      // Other work of this thread goes on.
      await pause();
    } while (after !== undefined);
    const { differences, counted = records } = await copy.proof.whole(part, { subject: 'copy' });
    if (differences.length > 0) throw new UnprovenCopyError(differences);
    if (counted !== records) throw new UnprovenCopyError([miscounted(part, counted, records)]);
  }
}

const miscounted = (part: ProofPart, counted: number, records: number): Difference => ({
  ...part,
  place: 'catalog',
  record: null,
  kind: 'different',
  detail: `It counts ${counted} records, and there are ${records}.`,
});
