import {
  convertToCommandError,
  ErrorType,
  isCommandError,
  NotLeaderError,
  StreamDeletedError,
} from '@eventstore/db-client';
import { EventStoreUnavailableError, LogReplacedError } from '../../../ports/eventStore.js';
import { TimeLimitError } from '../../../supervision/waiting.js';

/** Someone tombstoned the stream on the server: it can never be read or written again. */
export class StreamTombstonedError extends Error {
  override readonly name = 'StreamTombstonedError';
  constructor(readonly stream: string) {
    super(`The stream ${stream} was tombstoned on the server. Restore it from a backup, or use another name.`);
  }
}

/** The server's answer will be the same until someone changes a setting or the server. */
export class EventStoreRefusalError extends EventStoreUnavailableError {}

/** The call was left: it was made of a node that led then, and another does now. What became of it is unknown. */
export class LeaderChangedError extends Error {
  override readonly name = 'LeaderChangedError';
  constructor() {
    super('another node of the cluster leads now');
  }
}

/** No node of the cluster says that it leads. The call was not made. */
export class NoLeaderError extends Error {
  override readonly name = 'NoLeaderError';
  /** @param failure why a node did not answer */
  constructor(failure: unknown) {
    super(failure === undefined ? 'no node leads' : `no node leads, and one did not answer: ${textOf(failure)}`);
  }
}

/** The call was not made, or nothing could be sent over it any more. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** The call that this went over has ended without the answer. What became of it is unknown. */
export class CutOffError extends Error {
  override readonly name = 'CutOffError';
}

/** Between attempts of one call while the server is away. */
export const CALL_BACKOFF = { firstMs: 50, longestMs: 400 };

const OF_OURS = [TimeLimitError, LeaderChangedError, NoLeaderError, NotSentError, CutOffError];
/** Errors after which the same call may succeed when it is made again. */
const TRANSIENT: readonly string[] = [
  ErrorType.TIMEOUT,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.NOT_LEADER,
  // "Server Is Not Ready", "Server Is Busy" and what a dying connection reports arrive as unknown.
  ErrorType.UNKNOWN,
];

export function isMissingStream(error: unknown): boolean {
  return isClientError(error) && (error.type === ErrorType.STREAM_NOT_FOUND || error.type === ErrorType.NO_STREAM);
}

/**
 * The server's answer to a read of its whole log from where no event begins, or from behind its end: the position is of
 * another log, or of a time before this one was put back to an older copy.
 */
export function isNoPosition(error: unknown): boolean {
  return error instanceof Error && /Unexpected ReadAllResult/.test(error.message);
}

/** Whether to try again. Lost sockets report plain errors with a code, so those count as transient. */
export function isTransient(error: unknown): boolean {
  if (OF_OURS.some((transient) => error instanceof transient)) return true;
  if (isNoPosition(error) || error instanceof LogReplacedError) return false;
  if (isClientError(error)) return TRANSIENT.includes(error.type);
  if (error instanceof EventStoreUnavailableError) return !(error instanceof EventStoreRefusalError);
  return error instanceof Error && 'code' in error;
}

/** The call was not made, had no connection to go out by, or came to a node that takes none. */
export function isUnsent(error: unknown): boolean {
  if (error instanceof CutOffError) return false;
  const named = [NoLeaderError, NotSentError, NotLeaderError].some((unsent) => error instanceof unsent);
  return named || NOT_CONNECTED.test(textOf(error)) || REFUSED_UNREAD.test(textOf(error));
}

const NOT_CONNECTED = /No connection established|Name resolution failed/;
const REFUSED_UNREAD = /No leader info available|Server Is (Not Ready|Too Busy|Busy)/;

/** gRPC's status of a call that the server does not know. */
const UNIMPLEMENTED = 12;

export const isUnimplemented = (error: unknown): boolean => Object(error).code === UNIMPLEMENTED;

/**
 * What those get whose answers had not come when the call that they share failed. It may have failed by one of them,
 * such as the first that came to a node which leads no more, after others had been stored.
 */
export function cutOff(failure: Error): Error {
  const error = convertToCommandError(failure);
  if (!isTransient(error) || isUnimplemented(error) || NOT_CONNECTED.test(error.message)) return error;
  return new CutOffError(error.message, { cause: error });
}

/**
 * What a caller of the port gets to see. Mistakes in the code stay what they are.
 * @param about.mayBeStored of an append
 */
export function toPortError(
  error: unknown,
  { stream, mayBeStored = false }: { readonly stream?: string | undefined; readonly mayBeStored?: boolean } = {},
): unknown {
  if (error instanceof EventStoreUnavailableError) return error;
  // Only what was read before is asked for by its position.
  if (isNoPosition(error)) return new LogReplacedError({ cause: error });
  if (error instanceof StreamDeletedError) return new StreamTombstonedError(stream ?? error.streamName);
  if (isTransient(error))
    return new EventStoreUnavailableError(`The event store is away: ${textOf(error)}`, { cause: error, mayBeStored });
  if (!isClientError(error)) return error;
  const hint =
    error.type === ErrorType.ACCESS_DENIED
      ? ' Check the user in EVENTSTORE_URL: it must read $all and append to streams.'
      : '';
  return new EventStoreRefusalError(`The event store refuses (${error.type}): ${error.message}.${hint}`, {
    cause: error,
  });
}

function isClientError(error: unknown): error is Error & { readonly type: string } {
  return error instanceof Error && isCommandError(error);
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // What the server refuses over a call that stays open comes without words.
  return error.message === '' && isClientError(error) ? error.type : error.message;
}
