/** A worker thread that answers questions one after another, over connections of its own that only read. */
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { type PageQuery, type RowsQuery, RowsUnavailableError, type VersionQuery } from '../../../ports/rowStore.js';
import { sendable } from '../../../supervision/threads.js';
import { isDamage } from '../../damagedFiles.js';
import type { Connection } from './connection.js';
import { RowFiles } from './files.js';
import { makeIndex } from './indexes.js';
import { OPEN_FILES, UnusableRowsError } from './layout.js';
import { NoLongerWantedError, Pages } from './pages.js';

export type Question = { readonly tenant: string } & (
  | { readonly kind: 'progress' | 'spaces' }
  | { readonly kind: 'rows'; readonly space: string; readonly query: RowsQuery }
  | { readonly kind: 'page'; readonly space: string; readonly query: PageQuery }
  | { readonly kind: 'versions'; readonly space: string; readonly query: VersionQuery }
  /** Makes an index. */
  | { readonly kind: 'make'; readonly space: string; readonly spec: string }
);

export type Reply =
  | { readonly kind: 'answer'; readonly answer: unknown; readonly wanted?: readonly string[] }
  /** A kind of its own, as an error that is sent to another thread loses its class. */
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'error'; readonly error: Error };

export type ReaderThreadData = {
  readonly directory: string;
  /** One cell: 1 as soon as the question in work is cancelled, else 0. Set by the asking thread. */
  readonly unwanted: Int32Array<SharedArrayBuffer>;
};

/** A list that took longer asks for the indexes that it lacked. */
const SLOW_MS = 10;

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

function answerOf(question: Exclude<Question, { kind: 'make' }>, { connection, pages }: Open): Reply {
  const hidden = question.kind === 'progress' || question.kind === 'spaces' ? undefined : connection.hidden();
  if (hidden !== undefined) throw new RowsUnavailableError(hidden);
  if (question.kind === 'page') {
    const start = performance.now();
    const { page, wanted } = pages.page(question.space, question.query);
    return { kind: 'answer', answer: page, wanted: performance.now() - start > SLOW_MS ? wanted : [] };
  }
  switch (question.kind) {
    case 'progress':
      return { kind: 'answer', answer: connection.progress() };
    case 'spaces':
      return { kind: 'answer', answer: connection.spaces() };
    case 'rows':
      return { kind: 'answer', answer: connection.rows(question.space, question.query) };
    case 'versions':
      return { kind: 'answer', answer: connection.versions(question.space, question.query) };
  }
}

async function replyTo(question: Question): Promise<Reply> {
  const { tenant } = question;
  try {
    const file = files.current(tenant);
    // Without rows there is nothing.
    if (file === undefined) return { kind: 'answer', answer: undefined };
    if (question.kind === 'make') await makeIndex(file, question.space, question.spec);
    else {
      const opened = openFile(tenant, file);
      return opened.connection.reading(() => answerOf(question, opened));
    }
    return { kind: 'answer', answer: undefined };
  } catch (error) {
    if (error instanceof RowsUnavailableError) return { kind: 'unavailable', message: error.message };
    if (error instanceof NoLongerWantedError) return { kind: 'answer', answer: undefined };
    if (!isDamage(error) && !(error instanceof UnusableRowsError)) return { kind: 'error', error: sendable(error) };
    open.delete(tenant);
    files.markLost(tenant);
    const message = `The rows of ${tenant} cannot be read, and are made again from the event log.`;
    return { kind: 'unavailable', message };
  }
}

parentPort?.on('message', async (question: Question | { readonly kind: 'close' }) => {
  if (question.kind !== 'close') return parentPort?.postMessage(await replyTo(question));
  open.clear();
  return parentPort?.close();
});
