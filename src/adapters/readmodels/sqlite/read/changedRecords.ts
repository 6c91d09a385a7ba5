/** Reads records by their ids, and the ids of records that clean-ups deleted: for the feed of changes. */
import type { Revision } from '../../../../ports/eventStore.js';
import type { RecordReads, TableRef } from '../../../../ports/readModels.js';
import { PageRoom } from '../../shared/answerSize.js';
import { idBytes, idText } from '../rowFormat.js';
import type { ReadConnection } from './readConnection.js';
import { recordReader } from './recordReads.js';

/** One record a line: one text is far cheaper to hand to another thread than many. */
export type RecordLines = { readonly revision: Revision; readonly lines: string };

const NONE = 'null';

/** See `RecordReads`. */
export function readByIds(connection: ReadConnection, ref: TableRef, ids: readonly string[]): RecordLines {
  const { revision, result } = connection.read(
    ref,
    ids.map(() => NONE),
    (table) => {
      const read = recordReader(connection, table, 'id');
      const room = new PageRoom();
      const lines: string[] = [];
      for (const id of ids) {
        const line = read(idBytes(id) ?? null) ?? NONE;
        if (!room.take(line)) break;
        lines.push(line);
      }
      return lines;
    },
  );
  return { revision, lines: result.join('\n') };
}

export const recordsOf = ({ revision, lines }: RecordLines): Awaited<ReturnType<RecordReads['byIds']>> => ({
  revision,
  records: lines === '' ? [] : lines.split('\n').map((line) => (line === NONE ? null : line)),
});

/** See `RecordReads`. */
export function readCleanedUpIds(
  connection: ReadConnection,
  ref: TableRef,
  cleanUp: Revision,
  { behind, limit }: Parameters<RecordReads['cleanedUpIds']>[2],
): readonly string[] {
  const found = connection.read<readonly string[]>(ref, [], ({ cleanedUp }) => {
    if (cleanedUp === undefined) return [];
    const sql = `SELECT id FROM ${cleanedUp.rows} WHERE revision = ? AND id > ? ORDER BY id LIMIT ?`;
    const start = idBytes(behind ?? '') ?? Buffer.alloc(0);
    return connection.column<Buffer>(sql, [cleanUp, start, limit]).map(idText);
  });
  return found.result;
}
