import { ErrorType, isCommandError, MaxAppendSizeExceededError, StreamDeletedError } from '@eventstore/db-client';
import { AppendTooLargeError, EventStoreUnavailableError, LogReplacedError } from '../../../ports/eventStore.js';
import { TimeLimitError } from '../../../supervision/waiting.js';

/** The stream was tombstoned on the server: it can never be read or written again. */
export class StreamTombstonedError extends Error {
  override readonly name = 'StreamTombstonedError';
  constructor(readonly stream: string) {
    super(`The stream ${stream} was tombstoned on the server. Restore it from a backup, or use another name.`);
  }
}

/** Retrying is useless: the answer changes only when a setting or the server does. */
export class EventStoreRefusalError extends EventStoreUnavailableError {}

/** The call was abandoned, because its client answered nothing. Its outcome is unknown. */
export class ClientReplacedError extends Error {
  override readonly name = 'ClientReplacedError';
  constructor() {
    super('it answers nothing, and is connected again');
  }
}

/** Between retries of a call while the server is away. */
export const CALL_BACKOFF = { firstMs: 50, longestMs: 400 };

/** Errors after which a retry of the same call may succeed. */
const TRANSIENT: readonly string[] = [
  ErrorType.TIMEOUT,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.NOT_LEADER,
  // "Server Is Not Ready", "Server Is Busy" and errors of a dying connection arrive as unknown.
  ErrorType.UNKNOWN,
];

export function isMissingStream(error: unknown): boolean {
  return isClientError(error) && (error.type === ErrorType.STREAM_NOT_FOUND || error.type === ErrorType.NO_STREAM);
}

/**
 * The node refuses to read its whole log from a position. Either no event begins there, or it is behind the end; or the
 * node is not the leader that it takes itself for, or it is taking away a file. Version 23.10 says the same of all.
 */
export class PositionRefusedError extends EventStoreUnavailableError {}

const POSITION_REFUSED = /Unexpected ReadAllResult|read from an invalid position/;

export function isPositionRefused(error: unknown): boolean {
  return error instanceof PositionRefusedError || (error instanceof Error && POSITION_REFUSED.test(error.message));
}

/** Whether to retry. Lost sockets report plain errors with a code, so those count as transient. */
export function isTransient(error: unknown): boolean {
  if (error instanceof TimeLimitError || error instanceof ClientReplacedError) return true;
  if (isPositionRefused(error) || error instanceof LogReplacedError) return false;
  if (isClientError(error)) return TRANSIENT.includes(error.type);
  if (error instanceof EventStoreUnavailableError) return !(error instanceof EventStoreRefusalError);
  return error instanceof Error && ('code' in error || NOT_FOUND.test(error.message));
}

/** The library's words for a cluster of which no node says who leads, after it has asked each of them ten times. */
const NOT_FOUND = /Failed to discover/;
const NOT_CONNECTED = /No connection established|Name resolution failed/;
const REFUSED_UNREAD = /No leader info available|Server Is (Not Ready|Too Busy|Busy)/;
const UNSENT = [NOT_FOUND, NOT_CONNECTED, REFUSED_UNREAD];

/** Whether the call was certainly not carried out: not connected, or sent to a node that accepts none. */
export function isUnsent(error: unknown): boolean {
  if (isClientError(error) && error.type === ErrorType.NOT_LEADER) return true;
  return error instanceof Error && UNSENT.some((words) => words.test(error.message));
}

/**
 * Converts to the errors of the port. Programming errors stay as they are.
 * @param about.mayBeStored whether an append may have been stored
 */
export function toPortError(
  error: unknown,
  { stream, mayBeStored = false }: { readonly stream?: string | undefined; readonly mayBeStored?: boolean } = {},
): unknown {
  if (error instanceof EventStoreUnavailableError) return error;
  if (isPositionRefused(error)) return new PositionRefusedError(`The event store refuses: ${textOf(error)}`);
  if (error instanceof StreamDeletedError) return new StreamTombstonedError(stream ?? error.streamName);
  if (error instanceof MaxAppendSizeExceededError) return new AppendTooLargeError(error.maxAppendSize);
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
  const text = error instanceof Error ? error.message : String(error);
  return NOT_FOUND.test(text)
    ? 'no node of the cluster says who leads; are its addresses, tls and tlsCAFile right?'
    : text;
}
