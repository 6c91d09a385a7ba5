/** What is asked of the files of rows, and what is replied, in whichever thread. */
import { type RowReads, RowsUnavailableError, refuseHidden } from '../../../ports/rowStore.js';
import { sendable } from '../../../supervision/threads.js';
import type { RowFiles } from './files.js';
import { makeIndex } from './indexes.js';
import { lossOf } from './layout.js';
import type { TenantRows } from './pages.js';

type ReadQuestion<Kind extends 'rows' | 'page' | 'versions'> = {
  readonly kind: Kind;
  readonly space: string;
  readonly query: Parameters<RowReads[Kind]>[1];
};
export type Question = { readonly tenant: string } & (
  | { readonly kind: 'progress' }
  | { readonly kind: 'spaces' }
  | ReadQuestion<'rows'>
  | ReadQuestion<'page'>
  | ReadQuestion<'versions'>
  | { readonly kind: 'makeIndex'; readonly space: string; readonly spec: string }
);

/** An error that is sent to another thread loses its class. `wanted`: an index that a list took long for want of. */
export type Reply =
  | { readonly kind: 'answer'; readonly answer: unknown; readonly wanted?: string | undefined }
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'error'; readonly error: Error };

/** A list that took longer asks for the index that it lacked. */
const SLOW_MS = 10;

function answerTo(question: Exclude<Question, { kind: 'makeIndex' }>, rows: TenantRows): unknown {
  if (question.kind === 'progress' || question.kind === 'spaces') return rows[question.kind]();
  refuseHidden(rows.mark().state);
  const { space } = question;
  if (question.kind === 'rows') return rows.rows(space, question.query);
  return question.kind === 'page' ? rows.page(space, question.query) : rows.versions(space, question.query);
}

export async function replyTo(question: Question, files: RowFiles): Promise<Reply> {
  const { tenant } = question;
  const file = files.current(tenant);
  try {
    if (question.kind !== 'makeIndex') {
      const rows = files.rowsOf(tenant, file);
      const start = performance.now();
      // All statements see the file at one moment, for one lock of it, which costs more than a short statement.
      const answer = rows.db.transaction(() => answerTo(question, rows))();
      const isSlow = question.kind === 'page' && performance.now() - start > SLOW_MS;
      return { kind: 'answer', answer, wanted: isSlow ? rows.wanted : undefined };
    }
    if (file !== undefined) await makeIndex(file, question.space, question.spec);
    return { kind: 'answer', answer: undefined };
  } catch (error) {
    if (error instanceof RowsUnavailableError) return { kind: 'unavailable', message: error.message };
    const loss = lossOf(error);
    if (loss === undefined) return { kind: 'error', error: sendable(error) };
    files.lose(tenant, file);
    const message = `The rows of ${tenant} cannot be read, and are made again from the event log.`;
    return { kind: 'unavailable', message };
  }
}
