import {
  convertToCommandError,
  ErrorType,
  isCommandError,
  NotLeaderError,
  StreamDeletedError,
} from '@eventstore/db-client';
import { EventStoreUnavailableError, LogReplacedError } from '../../../ports/eventStore.js';
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

/** The call was abandoned because another node leads now. Its outcome is unknown. */
export class LeaderChangedError extends Error {
  override readonly name = 'LeaderChangedError';
  constructor() {
    super('another node of the cluster leads now');
  }
}

/** No node of the cluster claims to lead. The call was not made. */
export class NoLeaderError extends Error {
  override readonly name = 'NoLeaderError';
  /** @param failure why a node did not answer */
  constructor(failure: unknown) {
    super(failure === undefined ? 'no node leads' : `no node leads, and one did not answer: ${textOf(failure)}`);
  }
}

/** The call was not made, or could no longer carry anything. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** The call ended without an answer. Its outcome is unknown. */
export class CutOffError extends Error {
  override readonly name = 'CutOffError';
}

/** Between retries of a call while the server is away. */
export const CALL_BACKOFF = { firstMs: 50, longestMs: 400 };

const OWN_TRANSIENT = [TimeLimitError, LeaderChangedError, NoLeaderError, NotSentError, CutOffError];
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
  if (OWN_TRANSIENT.some((transient) => error instanceof transient)) return true;
  if (isPositionRefused(error) || error instanceof LogReplacedError) return false;
  if (isClientError(error)) return TRANSIENT.includes(error.type);
  if (error instanceof EventStoreUnavailableError) return !(error instanceof EventStoreRefusalError);
  return error instanceof Error && 'code' in error;
}

/** Whether the call was certainly not carried out: not made, not connected, or sent to a node that accepts none. */
export function isUnsent(error: unknown): boolean {
  if (error instanceof CutOffError) return false;
  const named = [NoLeaderError, NotSentError, NotLeaderError].some((unsent) => error instanceof unsent);
  return named || NOT_CONNECTED.test(textOf(error)) || REFUSED_UNREAD.test(textOf(error));
}

const NOT_CONNECTED = /No connection established|Name resolution failed/;
const REFUSED_UNREAD = /No leader info available|Server Is (Not Ready|Too Busy|Busy)/;

/** gRPC's status code for a call that the server does not support. */
const UNIMPLEMENTED = 12;

export const isUnimplemented = (error: unknown): boolean => Object(error).code === UNIMPLEMENTED;

/**
 * The error for appends without an answer when their shared call failed. One of them may have caused the failure, such
 * as the first to reach a node that no longer leads, after others were stored.
 */
export function cutOff(failure: Error): Error {
  const error = convertToCommandError(failure);
  if (!isTransient(error) || isUnimplemented(error) || NOT_CONNECTED.test(error.message)) return error;
  return new CutOffError(error.message, { cause: error });
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
  if (isPositionRefused(error))
    return new PositionRefusedError(`The event store refuses to read from a position: ${textOf(error)}`, {
      cause: error,
    });
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
  // Refusals over an open call come without a message.
  return error.message === '' && isClientError(error) ? error.type : error.message;
}
