/**
 * Half of a long query done by another reader thread. The thread that asks waits for it without turning its event loop, so
 * the two speak through shared memory. A partner that is busy is not waited for: what it has not begun is taken back.
 */
import type { MessagePort } from 'node:worker_threads';
import { rowsFound, type Scan, type Scanned, scanHere } from './query/scan.js';
import type { Cell, ReadConnection } from './readConnection.js';

/** Work that can be done elsewhere. */
export type Task =
  | { readonly kind: 'scan'; readonly scan: Scan }
  /** The rows of a query of one column named `row`. */
  | { readonly kind: 'rows'; readonly query: string; readonly cells: readonly Cell[]; readonly most: number };

/** The table as the query sees it. */
type TableState = { readonly id: number; readonly changes: number };

export interface Partner {
  /** Asks for the task. `finish` is its result, or undefined where it has to be done here. */
  start(table: TableState, task: Task): { finish(): Scanned | undefined };
}

type Job = { readonly table: TableState; readonly task: Task; readonly answer: SharedArrayBuffer };

/** States of a job, in the first four bytes of its answer. */
const ASKED = 0;
const BEGUN = 1;
const DONE = 2;
const TAKEN_BACK = 3;
const REFUSED = 4;

const COUNT_AT = 8;
const LENGTH_AT = 16;
const TEXT_AT = 24;
const BYTES_PER_ROW = 12;
/** Longer than any scan takes: then the partner has died. */
const PATIENCE_MS = 10_000;

/** The side that asks. */
export function partnerAt(port: MessagePort): Partner {
  return {
    start({ id, changes }, task) {
      const most = task.kind === 'scan' ? task.scan.kept : task.most;
      const answer = new SharedArrayBuffer(TEXT_AT + (most + 1) * BYTES_PER_ROW);
      const job: Job = { table: { id, changes }, task, answer };
      port.postMessage(job);
      return { finish: () => finish(answer) };
    },
  };
}

function finish(answer: SharedArrayBuffer): Scanned | undefined {
  const state = new Int32Array(answer, 0, 1);
  if (Atomics.compareExchange(state, 0, ASKED, TAKEN_BACK) === ASKED) return undefined;
  Atomics.wait(state, 0, BEGUN, PATIENCE_MS);
  if (Atomics.load(state, 0) !== DONE) return undefined;
  const view = new DataView(answer);
  const count = view.getFloat64(COUNT_AT);
  const length = view.getFloat64(LENGTH_AT);
  return length === 0 ? { count } : { count, json: Buffer.from(answer, TEXT_AT, length).toString('latin1') };
}

/** The side that is asked: scans when its thread is free. */
export function answerPartner(port: MessagePort, connection: ReadConnection): void {
  port.on('message', ({ table, task, answer }: Job) => {
    const state = new Int32Array(answer, 0, 1);
    if (Atomics.compareExchange(state, 0, ASKED, BEGUN) !== ASKED) return;
    let outcome = REFUSED;
    try {
      const found = connection.atOnce(() => (isSame(connection, table) ? perform(connection, task) : undefined));
      if (found !== undefined && write(answer, found)) outcome = DONE;
    } catch {
      // Who asked does the work itself then, and meets what went wrong.
    } finally {
      Atomics.store(state, 0, outcome);
      Atomics.notify(state, 0);
    }
  });
}

export const perform = (connection: ReadConnection, task: Task): Scanned =>
  task.kind === 'scan' ? scanHere(connection, task.scan) : rowsFound(connection, task.query, task.cells);

/** The other thread may see an earlier or later moment: the halves belong together only where the table is the same. */
const isSame = (connection: ReadConnection, { id, changes }: TableState): boolean =>
  connection.number('SELECT count(*) FROM catalog WHERE id = ? AND changes = ?', [id, changes]) === 1;

/** False when there is no room for it. */
function write(answer: SharedArrayBuffer, { count, json = '' }: Scanned): boolean {
  if (json.length > answer.byteLength - TEXT_AT) return false;
  const view = new DataView(answer);
  view.setFloat64(COUNT_AT, count);
  view.setFloat64(LENGTH_AT, Buffer.from(answer, TEXT_AT).write(json, 'latin1'));
  return true;
}
