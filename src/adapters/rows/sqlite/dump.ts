/** Everything of a tenant as lines, for comparing two files. */
import type { DumpLine } from '../../../ports/rowStore.js';
import { baseOf, idText } from './cells.js';
import type { Connection } from './connection.js';

const LINES_AT_A_TIME = 1_000;

type Tuple = [number: number, id: Buffer | string, ...rest: unknown[]];

export async function* dumpOf(connection: Connection): AsyncIterable<DumpLine> {
  for (const space of [...connection.spaces().keys()].sort()) {
    const now = connection.spaceNow(space);
    if (now === undefined) continue;
    const lineOf = (kind: DumpLine['kind'], [, id, ...rest]: Tuple): DumpLine => {
      return { space, kind, id: idText(id), text: JSON.stringify(rest) };
    };
    const { revision, lastEventAt, rows } = now.state;
    yield lineOf('space', [0, '', revision, lastEventAt, rows, now.space.assetType]);
    const base = baseOf(now.space);
    const behind = connection.tuples<Tuple>(
      `SELECT row, id, row - ?, key, from_pos, created, updated, data,
         (SELECT batches.id FROM seen JOIN batches USING (batch) WHERE seen.row = rows.row)
       FROM rows WHERE row > ? AND row < ? ORDER BY row LIMIT ${LINES_AT_A_TIME}`,
    );
    for (let last: number | undefined = base; last !== undefined; ) {
      const tuples: readonly Tuple[] = behind.all(base, last, base + now.next);
      for (const tuple of tuples) yield lineOf('row', tuple);
      last = tuples.at(-1)?.[0];
    }
    const state = connection.tuples<Tuple>(
      `SELECT n, id, row - ?, last_key, from_pos, to_pos, how, created, updated, data,
         (SELECT batches.id FROM batches WHERE batches.batch = past.batch)
       FROM past WHERE n = ?`,
    );
    const states = connection.column<number>('SELECT n FROM past WHERE space = ? ORDER BY row, from_pos');
    for (const n of states.all(now.space.number)) {
      const tuple = state.get(base, n);
      if (tuple !== undefined) yield lineOf('version', tuple);
    }
  }
}
