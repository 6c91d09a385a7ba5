/** A worker thread that answers questions one after another, over connections of its own that only read. */
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { RowsUnavailableError } from '../../../ports/rowStore.js';
import { sendable } from '../../../supervision/threads.js';
import { isDamage } from '../../damagedFiles.js';
import { Connection } from './connection.js';
import { RowFiles } from './files.js';
import { Functions, NoLongerWantedError } from './functions.js';
import type { IndexSpec } from './indexes.js';
import { OPEN_FILES, openTenantFile, UnusableRowsError } from './layout.js';
import { makeIndex } from './makeIndex.js';
import { Pages } from './pages.js';
import type { Question, ReaderThreadData, Reply, WantedIndex } from './questions.js';

/** A list that took longer asks for the indexes that it lacked. */
const SLOW_MS = 10;

type Open = { readonly number: number; readonly connection: Connection; readonly pages: Pages };

const { directory, unwanted }: ReaderThreadData = workerData;
const files = new RowFiles(directory);
const open = new LRUCache<string, Open>({ max: OPEN_FILES, dispose: ({ connection }) => connection.db.close() });

/** Undefined for a tenant without rows. */
function openFile(tenant: string): Open | undefined {
  const number = files.number(tenant);
  const known = open.get(tenant);
  if (known !== undefined && known.number === number) return known;
  open.delete(tenant);
  if (number === undefined) return undefined;
  const connection = new Connection(
    openTenantFile(files.path(tenant), { readonly: true, checks: files.isNotChecked(tenant) }),
  );
  const functions = new Functions(connection, () => Atomics.load(unwanted, 0) === 0);
  const opened = { number, connection, pages: new Pages(functions) };
  open.set(tenant, opened);
  return opened;
}

type Answered = { readonly answer: unknown; readonly wanted?: readonly IndexSpec[] };

function answerOf(question: Question, { connection, pages }: Open): Answered {
  switch (question.kind) {
    case 'progress':
      return { answer: connection.progress() };
    case 'spaces':
      return { answer: connection.spaces() };
    case 'rows':
      return { answer: connection.rows(question.space, question.query) };
    case 'versions':
      return { answer: connection.versions(question.space, question.query) };
    case 'page': {
      const { page, wanted } = pages.page(question.space, question.query);
      return { answer: page, wanted };
    }
  }
}

function ask(question: Question): Reply {
  const { tenant } = question;
  try {
    const start = performance.now();
    const file = openFile(tenant);
    if (file === undefined) return { kind: 'answer', answer: undefined, wanted: [] };
    const { answer, wanted = [] } = file.connection.reading(() => {
      const hidden = question.kind === 'progress' || question.kind === 'spaces' ? undefined : file.connection.hidden();
      if (hidden !== undefined) throw new RowsUnavailableError(hidden);
      return answerOf(question, file);
    });
    return { kind: 'answer', answer, wanted: performance.now() - start > SLOW_MS ? wanted : [] };
  } catch (error) {
    if (error instanceof RowsUnavailableError) return { kind: 'unavailable', message: error.message };
    if (isDamage(error) || error instanceof UnusableRowsError) {
      open.delete(tenant);
      files.markLost(tenant);
      return {
        kind: 'unavailable',
        message: `The rows of ${tenant} cannot be read, and are made again from the event log.`,
      };
    }
    if (error instanceof NoLongerWantedError) return { kind: 'answer', answer: undefined, wanted: [] };
    return { kind: 'error', error: sendable(error) };
  }
}

async function make({ tenant, space, spec }: WantedIndex): Promise<Reply> {
  try {
    await makeIndex(files.path(tenant), space, spec);
    return { kind: 'answer', answer: undefined, wanted: [] };
  } catch (error) {
    // The file may have been removed or replaced meanwhile, or be damaged: the next list asks again.
    return { kind: 'error', error: sendable(error) };
  }
}

parentPort?.on('message', async (request: Question | WantedIndex | { readonly kind: 'close' }) => {
  if (request.kind !== 'close')
    return parentPort?.postMessage(request.kind === 'make' ? await make(request) : ask(request));
  open.clear();
  return parentPort?.close();
});
