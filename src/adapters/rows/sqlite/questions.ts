/** What is asked of the files of rows, and what is replied, in whichever thread. */
import type { PageQuery, RowsQuery, VersionQuery } from '../../../ports/rowStore.js';
import { sendable } from '../../../supervision/threads.js';
import type { RowFiles } from './files.js';
import { makeIndex } from './indexes.js';
import { lossOf } from './layout.js';
import type { TenantRows } from './pages.js';

export type Question = { readonly tenant: string } & (
  | { readonly kind: 'progress' }
  | { readonly kind: 'spaces' }
  | { readonly kind: 'rows'; readonly space: string; readonly query: RowsQuery }
  | { readonly kind: 'page'; readonly space: string; readonly query: PageQuery }
  | { readonly kind: 'versions'; readonly space: string; readonly query: VersionQuery }
  | { readonly kind: 'makeIndex'; readonly space: string; readonly spec: string }
);

/** An error that is sent to another thread loses its class. `wanted`: an index that a list took long for want of. */
export type Reply =
  | { readonly kind: 'answer'; readonly answer: unknown; readonly wanted?: string | undefined }
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'error'; readonly error: Error };

/** A list that took longer asks for the index that it lacked. */
const SLOW_MS = 10;

const HIDDEN = {
  running: undefined,
  filling: 'The rows of this tenant are being made.',
  parked: 'The rows of this tenant are not shown: an event could not be applied.',
} as const;

function answerTo(question: Exclude<Question, { kind: 'makeIndex' }>, rows: TenantRows): Reply {
  if (question.kind === 'progress') return { kind: 'answer', answer: rows.progress() };
  if (question.kind === 'spaces') return { kind: 'answer', answer: rows.spaces() };
  const message = HIDDEN[rows.mark().state ?? 'running'];
  if (message !== undefined) return { kind: 'unavailable', message };
  const { space } = question;
  if (question.kind === 'rows') return { kind: 'answer', answer: rows.rows(space, question.query) };
  if (question.kind === 'versions') return { kind: 'answer', answer: rows.versions(space, question.query) };
  const start = performance.now();
  const answer = rows.page(space, question.query);
  return { kind: 'answer', answer, wanted: performance.now() - start > SLOW_MS ? rows.wanted : undefined };
}

export async function replyTo(question: Question, files: RowFiles): Promise<Reply> {
  const { tenant } = question;
  try {
    if (question.kind !== 'makeIndex') {
      const rows = files.rowsOf(tenant);
      return rows.atOneMoment(() => answerTo(question, rows));
    }
    const file = files.current(tenant);
    if (file !== undefined) await makeIndex(file, question.space, question.spec);
    return { kind: 'answer', answer: undefined };
  } catch (error) {
    const loss = lossOf(error);
    if (loss === undefined) return { kind: 'error', error: sendable(error) };
    files.markLost(tenant, loss);
    return {
      kind: 'unavailable',
      message: `The rows of ${tenant} cannot be read, and are made again from the event log.`,
    };
  }
}
