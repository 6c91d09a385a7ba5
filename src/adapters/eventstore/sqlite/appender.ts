import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type AppendResult,
  EventLogDamagedError,
  EventStoreUnavailableError,
  type EventToAppend,
  type ExpectedRevision,
  type Revision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { isDamage } from '../../openSqlite.js';
import { type EncodedEvent, encodeAppend } from './encoding.js';
import type { LogFile } from './logFile.js';

/** One call of `append`, as sent to the appender thread, which answers in the order of the requests. */
export type AppendRequest = {
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  readonly expectedRevision: ExpectedRevision;
};

export type AppenderMessage = AppendRequest | 'close';

export type AppendAnswer =
  | ({ readonly kind: 'stored' } & AppendResult)
  | { readonly kind: 'conflict'; readonly actual: Revision | 'no-stream' }
  | { readonly kind: 'failed'; readonly reason: string; readonly mayBeStored: boolean };

type Pending = {
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: Error) => void;
};

/** The name of the channel that announces a file's new head. @param file its real path */
export const headsOf = (file: string): string => `event-log ${file}`;

/** The caller's side of the appender thread, which the first append starts: a store that only reads has none. */
export function openAppender(settings: LogFile) {
  const pending: Pending[] = [];
  let worker: Worker | undefined;
  let [isClosed, isFailing] = [false, false];

  /** @param answers of one group, which failed as a whole or not at all */
  const receive = (answers: readonly AppendAnswer[]): void => {
    isFailing = answers[0]?.kind === 'failed';
    for (const answer of answers) pending.shift()?.resolve(answer);
    // An idle thread does not keep the process running; one that is closing does, until it ends.
    if (pending.length === 0 && !isClosed) worker?.unref();
  };
  const start = (): Worker => {
    const thread = new Worker(new URL('./appender.worker.js', import.meta.url), {
      workerData: settings,
      resourceLimits: { maxYoungGenerationSizeMb: 16 },
    });
    let cause: unknown = 'it stopped';
    thread.on('message', receive);
    thread.on('error', (error) => {
      cause = error;
    });
    // No append outlives its thread: those without an answer may or may not be stored.
    thread.on('exit', () => {
      worker = undefined;
      isFailing = pending.length > 0;
      // It could not open the file.
      const error = isDamage(cause)
        ? new EventLogDamagedError(settings.file, String(cause))
        : new EventStoreUnavailableError(`The appender thread ended: ${cause}.`, { mayBeStored: true });
      for (const { reject } of pending.splice(0)) reject(error);
    });
    return thread;
  };

  return {
    isFailing: () => isFailing,
    /** See `EventStore.append`. Sent in the order of the calls: copying a log relies on it. */
    async append(
      stream: string,
      events: readonly EventToAppend[],
      expectedRevision: ExpectedRevision,
    ): Promise<AppendResult> {
      if (isClosed) throw new EventStoreUnavailableError('The event store is closed.');
      const request: AppendRequest = { stream, events: encodeAppend(events), expectedRevision };
      worker ??= start();
      worker.ref();
      worker.postMessage(request);
      const answer = await new Promise<AppendAnswer>((resolve, reject) => pending.push({ resolve, reject }));
      if (answer.kind === 'conflict') throw new WrongExpectedRevisionError(stream, expectedRevision, answer.actual);
      if (answer.kind === 'stored') return { revision: answer.revision, position: answer.position };
      const { reason, mayBeStored } = answer;
      throw new EventStoreUnavailableError(`The append was not committed: ${reason}`, { mayBeStored });
    },
    async close(): Promise<void> {
      isClosed = true;
      if (worker === undefined) return;
      worker.ref();
      const ended = once(worker, 'exit');
      worker.postMessage('close' satisfies AppenderMessage);
      await ended;
    },
  };
}
