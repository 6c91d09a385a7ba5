import { ErrorType, isCommandError, MaxAppendSizeExceededError } from '@eventstore/db-client';
import { AppendTooLargeError, EventStoreUnavailableError } from '../../../ports/eventStore.js';
import { LogReplacedError } from '../../../ports/logAnchor.js';
import { TimeLimitError } from '../../../supervision/waiting.js';

/** Retrying is useless: the answer changes only when a setting or the server does. */
class EventStoreRefusalError extends EventStoreUnavailableError {}

/**
 * The node refuses to read its whole log from a position. Either no event begins there, or it is behind the end; or the
 * node is not the leader that it takes itself for, or it is taking away a file. Version 23.10 says the same of all.
 */
export class PositionRefusedError extends EventStoreUnavailableError {}

/** The call was abandoned, because its client answered nothing. Its outcome is unknown. */
export class ClientReplacedError extends Error {
  override readonly name = 'ClientReplacedError';
  constructor() {
    super('it answers nothing, and is connected again');
  }
}

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

const POSITION_REFUSED = /Unexpected ReadAllResult|read from an invalid position/;
/** The library's words for a cluster of which no node says who leads, after it has asked each of them ten times. */
const NO_LEADER = /Failed to discover/;
/** Not connected, or sent to a node that accepts no calls. */
const UNSENT = [
  NO_LEADER,
  /No connection established|Name resolution failed/,
  /No leader info available|Server Is (Not Ready|Too Busy|Busy)/,
];

export const isMissingStream = (error: unknown): boolean =>
  isOf(error, ErrorType.STREAM_NOT_FOUND, ErrorType.NO_STREAM);

export function isPositionRefused(error: unknown): boolean {
  return error instanceof PositionRefusedError || (error instanceof Error && POSITION_REFUSED.test(error.message));
}

/** Whether to retry. Lost sockets report plain errors with a code, so those count as transient. */
export function isTransient(error: unknown): boolean {
  if (error instanceof TimeLimitError || error instanceof ClientReplacedError) return true;
  if (isPositionRefused(error) || error instanceof LogReplacedError) return false;
  if (error instanceof EventStoreUnavailableError) return !(error instanceof EventStoreRefusalError);
  if (!(error instanceof Error)) return false;
  return isCommandError(error) ? isOf(error, ...TRANSIENT) : 'code' in error || NO_LEADER.test(error.message);
}

/** Whether the call was certainly not carried out. */
export function isUnsent(error: unknown): boolean {
  if (isOf(error, ErrorType.NOT_LEADER)) return true;
  return error instanceof Error && UNSENT.some((words) => words.test(error.message));
}

/**
 * Converts to the errors of the port. Programming errors stay as they are.
 * @param mayBeStored whether an append may have been stored
 */
export function toPortError(error: unknown, mayBeStored = false): unknown {
  // A later attempt was not sent, and an earlier one may be stored.
  if (mayBeStored && error instanceof EventStoreUnavailableError && !(error instanceof LogReplacedError))
    return new EventStoreUnavailableError(error.message, { cause: error, mayBeStored });
  if (error instanceof EventStoreUnavailableError || !(error instanceof Error)) return error;
  const text = NO_LEADER.test(error.message)
    ? 'no node of the cluster says who leads; are its addresses, tls and tlsCAFile right?'
    : error.message;
  if (isPositionRefused(error)) return new PositionRefusedError(`The event store refuses: ${text}`);
  if (error instanceof MaxAppendSizeExceededError) return new AppendTooLargeError(error.maxAppendSize);
  if (isTransient(error))
    return new EventStoreUnavailableError(`The event store is away: ${text}`, { cause: error, mayBeStored });
  if (!isCommandError(error)) return error;
  const hint = isOf(error, ErrorType.ACCESS_DENIED)
    ? ' Check the user in EVENTSTORE_URL: it must read $all and append to streams.'
    : '';
  const said = `The event store refuses (${error.type}): ${text}.${hint}`;
  return new EventStoreRefusalError(said, { cause: error, mayBeStored });
}

const isOf = (error: unknown, ...types: readonly string[]): boolean =>
  error instanceof Error && isCommandError(error) && types.includes(error.type);
