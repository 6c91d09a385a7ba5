/** Reads rows: a few by id or key at once, all else in a few threads, so that no query blocks the caller's event loop. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import PQueue from 'p-queue';
import { type RowReads, RowsUnavailableError, refuseHidden } from '../../../ports/rowStore.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import { sendable } from '../../../supervision/threads.js';
import { lossOf, RowFiles } from './files.js';
import { makeIndex } from './indexes.js';
import type { TenantRows } from './pages.js';

/** So few rows are read in 0.2 ms at most, and a message to a thread and back takes as long. */
const FEW_ROWS = 25;

type Answered = Extract<Reply, { kind: 'answer' }>;

/** @param readers threads that answer lists; one more answers what is short */
export function openRowReads({ directory, readers }: { directory: string; readers: number }): RowReads {
  const threads = new ReaderThreads(directory, readers);
  return {
    rows: (ref, query, cancellation) =>
      threads.ask({ kind: 'rows', ...ref, query }, cancellation, query.ids.length + query.keys.length <= FEW_ROWS),
    page: (ref, query, cancellation) => threads.ask({ kind: 'page', ...ref, query }, cancellation),
    versions: (ref, query, cancellation) => threads.ask({ kind: 'versions', ...ref, query }, cancellation),
    spaces: (tenant) => threads.ask({ kind: 'spaces', tenant }, undefined, true),
    progress: (tenant) => threads.ask({ kind: 'progress', tenant }, undefined, true),
    close: () => threads.close(),
  };
}

function answered(reply: Reply | undefined): Answered {
  if (reply?.kind === 'answer') return reply;
  throw reply?.kind === 'error' ? reply.error : new RowsUnavailableError(reply?.message);
}

class ReaderThreads {
  readonly #files: RowFiles;
  /** Pages may take long, and leave one thread to all other questions. */
  readonly #pages: PQueue;
  readonly #others = new PQueue({ concurrency: 1 });
  readonly #threads = new Set<Worker>();
  readonly #idle = new Set<Worker>();
  /** Indexes are made one at a time. Others are asked for again by later lists. */
  readonly #indexes = new PQueue({ concurrency: 1 });
  #isClosed = false;

  constructor(
    private readonly directory: string,
    readers: number,
  ) {
    this.#files = new RowFiles(directory, { isReader: true });
    this.#pages = new PQueue({ concurrency: readers });
  }

  /** @param isShort it is answered here */
  async ask<Answer>(question: Question, cancellation?: Cancellation, isShort = false): Promise<Answer> {
    if (this.#isClosed) throw new RowsUnavailableError('The rows are closed.');
    cancellation?.throwIfCancelled();
    // The types of messages cannot say that an answer is of its question's kind.
    if (isShort) return answered(await replyTo(question, this.#files)).answer as Answer;
    const isPage = question.kind === 'page';
    const asked = (isPage ? this.#pages : this.#others).add(() => this.#answer(question, cancellation));
    const { answer, wanted } = await new Promise<Answered>((resolve, reject) => {
      const forget = cancellation?.onCancel(() => reject(cancellation.reason));
      asked.then(resolve, reject).finally(forget);
    });
    if (isPage && wanted !== undefined && this.#indexes.pending === 0) {
      // The file may be gone or be damaged: then the next list asks again.
      this.#indexes.add(() => this.#answer({ ...question, kind: 'makeIndex', spec: wanted })).catch(() => undefined);
    }
    return answer as Answer;
  }

  async #answer(question: Question, cancellation?: Cancellation): Promise<Answered> {
    cancellation?.throwIfCancelled();
    const [thread = this.#start()] = this.#idle;
    this.#idle.delete(thread);
    // Only a thread at work keeps the process alive.
    thread.ref();
    thread.postMessage(question);
    const [reply]: Reply[] = await once(thread, 'message').catch((cause: unknown) => {
      throw new RowsUnavailableError('A reader thread has died.', { cause });
    });
    thread.unref();
    this.#idle.add(thread);
    return answered(reply);
  }

  #start(): Worker {
    const thread = new Worker(new URL('./readerThread.js', import.meta.url), {
      workerData: this.directory,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    });
    this.#threads.add(thread);
    // It is replaced when the next question needs one.
    thread.on('error', () => this.#idle.delete(thread));
    thread.on('exit', () => {
      this.#threads.delete(thread);
      // For the question that waits for its reply, if there is one.
      thread.emit('error', new Error('The thread has ended.'));
    });
    return thread;
  }

  /** Questions that were asked are answered; an index that is being made is left as it is. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pages.onIdle();
    await this.#others.onIdle();
    this.#files.close();
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }
}

// What is asked of the files of rows, and what is replied.

type ReadQuestion = {
  [Kind in 'rows' | 'page' | 'versions']: { kind: Kind; space: string; query: Parameters<RowReads[Kind]>[1] };
};
export type Question = { readonly tenant: string } & (
  | { readonly kind: 'progress' }
  | { readonly kind: 'spaces' }
  | ReadQuestion[keyof ReadQuestion]
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

/** In whichever thread. */
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
