/** A thread of the service that is kept running: it tells news, and does what it is asked. Both ends of the messages. */
import { randomUUID } from 'node:crypto';
import { parentPort, Worker } from 'node:worker_threads';
import { keepRunning } from '../supervision/keepRunning.js';
import { giveWay, sendable } from '../supervision/threads.js';
import { sleep } from '../supervision/waiting.js';

/** What the messages of a thread carry. */
type Kinds = {
  readonly request: unknown;
  readonly progress: unknown;
  readonly answer: unknown;
  readonly news: unknown;
};

/** Without a request: the one of this id is cancelled. */
type Message<Of extends Kinds> = 'stop' | { readonly id: string; readonly request?: Of['request'] };

type Told<Of extends Kinds> =
  | { readonly kind: 'news'; readonly news: Of['news'] }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'progress'; readonly id: string; readonly progress: Of['progress'] }
  | { readonly kind: 'answer'; readonly id: string; readonly answer: Of['answer'] }
  | { readonly kind: 'error'; readonly id: string; readonly error: Error };

/** By default V8 takes 48 MB for what is young, and gives little back. */
const THREAD_MEMORY = { maxYoungGenerationSizeMb: 16 };
/** A thread that was asked to stop and has not, as when an engine does not answer, is ended after this time. */
const STOP_MS = 5_000;
type ThreadOptions<Of extends Kinds> = {
  readonly workerData: unknown;
  readonly backoff: Parameters<typeof keepRunning>[1]['backoff'];
  /** Milliseconds until the first start. Default 0. */
  readonly startAfterMs?: number;
  readonly onNews: (news: Of['news']) => void;
  readonly onFailure: (error: Error) => void;
};

/** @param file of the thread, which calls `insideThread` */
export function keepThread<Of extends Kinds>(file: URL, options: ThreadOptions<Of>) {
  const stopping = new AbortController();
  const { signal: stopped } = stopping;
  const asked = new Map<string, (told: Told<Of>) => void>();
  let worker: Worker | undefined;
  let failure: Error | undefined;

  const receive = (told: Told<Of>): void => {
    if (told.kind === 'news') {
      failure = undefined;
      options.onNews(told.news);
    } else if (told.kind === 'failed') {
      failure = told.error;
      options.onFailure(failure);
    } else asked.get(told.id)?.(told);
  };
  /** Resolves when the thread has ended for any reason. */
  const run = async (): Promise<void> => {
    const started = new Worker(file, { workerData: options.workerData, resourceLimits: THREAD_MEMORY });
    worker = started;
    started.on('message', receive);
    started.on('error', (error) => receive({ kind: 'failed', error }));
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      started.postMessage('stop' satisfies Message<Of>);
      timer = setTimeout(() => void started.terminate(), STOP_MS);
    };
    stopped.addEventListener('abort', stop);
    await new Promise((resolve) => started.once('exit', resolve));
    stopped.removeEventListener('abort', stop);
    clearTimeout(timer);
    worker = undefined;
    for (const [id, end] of asked)
      end({ kind: 'error', id, error: new Error('The thread that did the work has ended.') });
  };
  const ended = sleep(options.startAfterMs ?? 0, stopped).then(() =>
    keepRunning(run, { signal: stopped, backoff: options.backoff, onFailure: () => undefined }),
  );
  return {
    /** The last failure; undefined once the thread has told news since. */
    failure: () => failure,
    /** @throws what the work throws; Error if the thread does not run, or ends meanwhile */
    async ask(
      request: Of['request'],
      signal?: AbortSignal,
      onProgress: (progress: Of['progress']) => void = () => undefined,
    ): Promise<Of['answer']> {
      const to = worker;
      if (to === undefined) throw failure ?? new Error('The thread that does this does not run now.');
      const id = randomUUID();
      signal?.addEventListener('abort', () => to.postMessage({ id } satisfies Message<Of>));
      try {
        return await new Promise<Of['answer']>((resolve, reject) => {
          asked.set(id, (told) => {
            if (told.kind === 'progress') onProgress(told.progress);
            else if (told.kind === 'answer') resolve(told.answer);
            else if (told.kind === 'error') reject(told.error);
          });
          to.postMessage({ id, request } satisfies Message<Of>);
        });
      } finally {
        asked.delete(id);
      }
    },
    async stop(): Promise<void> {
      stopping.abort();
      await ended;
    },
  };
}

type Work<Of extends Kinds> = (
  request: Of['request'],
  signal: AbortSignal,
  tellProgress: (progress: Of['progress']) => void,
) => Promise<Of['answer']>;

/** The other end. What was sent before `serve` is delivered then. */
export function insideThread<Of extends Kinds>() {
  const stopping = new AbortController();
  const tell = (told: Told<Of>): void => parentPort?.postMessage(told);
  // No request and no write waits for the threads of the service.
  giveWay();
  return {
    stopping,
    tellNews: (news: Of['news']): void => tell({ kind: 'news', news }),
    fail: (error: unknown): void => tell({ kind: 'failed', error: sendable(error) }),
    serve(work: Work<Of>): void {
      const running = new Map<string, AbortController>();
      const answer = async (id: string, request: Of['request']): Promise<void> => {
        const cancelling = new AbortController();
        running.set(id, cancelling);
        const signal = AbortSignal.any([cancelling.signal, stopping.signal]);
        try {
          const told = await work(request, signal, (progress) => tell({ kind: 'progress', id, progress }));
          tell({ kind: 'answer', id, answer: told });
        } catch (error) {
          tell({ kind: 'error', id, error: sendable(error) });
        }
        running.delete(id);
      };
      parentPort?.on('message', (asked: Message<Of>) => {
        if (asked === 'stop') stopping.abort(new Error('The service stops.'));
        else if (asked.request === undefined) running.get(asked.id)?.abort();
        else void answer(asked.id, asked.request);
      });
    },
    /** Lets the thread end. */
    close: (): void => parentPort?.close(),
  };
}
