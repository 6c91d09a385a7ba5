/** A worker thread that answers questions one after another, over connections of its own that only read. */
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { PageQuery, RowsQuery, VersionQuery } from '../../../ports/rowStore.js';
import { sendable } from '../../../supervision/threads.js';
import { isDamage } from '../../damagedFiles.js';
import type { Connection } from './connection.js';
import { RowFiles } from './files.js';
import { makeIndex } from './indexes.js';
import { OPEN_FILES, UnusableRowsError } from './layout.js';
import { NoLongerWantedError, Pages } from './pages.js';

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

export type ReaderThreadData = {
  readonly directory: string;
  /** One cell: 1 as soon as the question in work is cancelled, else 0. Set by the asking thread. */
  readonly unwanted: Int32Array<SharedArrayBuffer>;
};

/** A list that took longer asks for the index that it lacked. */
const SLOW_MS = 10;

/** Why rows are not shown, for callers. */
const HIDDEN = {
  running: undefined,
  filling: 'The rows of this tenant are being made.',
  parked: 'The rows of this tenant are not shown: an event could not be applied.',
} as const;

type Open = { readonly file: string; readonly connection: Connection; readonly pages: Pages };

const { directory, unwanted }: ReaderThreadData = workerData;
const files = new RowFiles(directory);
const open = new LRUCache<string, Open>({ max: OPEN_FILES, dispose: ({ connection }) => connection.db.close() });

function openFile(tenant: string, file: string): Open {
  const known = open.get(tenant);
  if (known?.file === file) return known;
  const connection = files.open(file, { readonly: true });
  const opened = { file, connection, pages: new Pages(connection, () => Atomics.load(unwanted, 0) === 0) };
  open.set(tenant, opened);
  return opened;
}

function answerTo(question: Exclude<Question, { kind: 'makeIndex' }>, { connection, pages }: Open): Reply {
  if (question.kind === 'progress') return { kind: 'answer', answer: connection.progress() };
  if (question.kind === 'spaces') return { kind: 'answer', answer: connection.spaces() };
  const message = HIDDEN[connection.progress()?.state ?? 'running'];
  if (message !== undefined) return { kind: 'unavailable', message };
  const { space } = question;
  if (question.kind === 'rows') return { kind: 'answer', answer: connection.rows(space, question.query) };
  if (question.kind === 'versions') return { kind: 'answer', answer: connection.versions(space, question.query) };
  const start = performance.now();
  const { page, wanted } = pages.page(space, question.query);
  return { kind: 'answer', answer: page, wanted: performance.now() - start > SLOW_MS ? wanted[0] : undefined };
}

async function replyTo(question: Question): Promise<Reply> {
  const { tenant } = question;
  const nothing = { kind: 'answer', answer: undefined } as const;
  try {
    const file = files.current(tenant);
    if (file === undefined) return nothing;
    if (question.kind === 'makeIndex') {
      await makeIndex(file, question.space, question.spec);
      return nothing;
    }
    const opened = openFile(tenant, file);
    return opened.connection.db.transaction(() => answerTo(question, opened))();
  } catch (error) {
    if (error instanceof NoLongerWantedError) return nothing;
    if (!isDamage(error) && !(error instanceof UnusableRowsError)) return { kind: 'error', error: sendable(error) };
    open.delete(tenant);
    files.markLost(tenant);
    const message = `The rows of ${tenant} cannot be read, and are made again from the event log.`;
    return { kind: 'unavailable', message };
  }
}

parentPort?.on('message', async (question: Question | 'close') => {
  if (question !== 'close') return parentPort?.postMessage(await replyTo(question));
  open.clear();
  return parentPort?.close();
});
