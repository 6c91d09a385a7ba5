/**
 * Applies events to projections, and finds the tenant whose event cannot be applied. Only failures that the event
 * itself causes count: engine errors are rethrown.
 */
import { cutText } from '../domain/shownName.js';
import { parseStream } from '../domain/streams.js';
import type { LogAnchor, Position, RecordedEvent } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import { MAX_PARKED, type Parked } from '../ports/projectionProgress.js';
import { MismatchError, type ReadModelWriter } from '../ports/readModelWriter.js';
import { type Piece, type PieceTarget, piecesOf } from './eventPieces.js';
import { isOf, type Step } from './steps.js';

/** An event that a projection can never apply. */
export class ProjectionError extends Error {
  override readonly name = 'ProjectionError';
  readonly projection: Projection;
  readonly event: RecordedEvent;

  constructor(projection: Projection, event: RecordedEvent, options: ErrorOptions) {
    super(`The projection ${projection.name} cannot apply ${event.type} at position ${event.position}.`, options);
    this.projection = projection;
    this.event = event;
  }
}

/** Applies steps through the writer, within one transaction. */
export class EventApplier {
  readonly #target: PieceTarget;
  #engineFailed = false;

  constructor(writer: ReadModelWriter) {
    const noticing = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
      answer.catch((error: unknown) => {
        this.#engineFailed ||= !(error instanceof MismatchError);
        throw error;
      });
    this.#target = {
      defineTable: (...args) => noticing(writer.defineTable(...args)),
      applyToTable: (...args) => noticing(writer.applyToTable(...args)),
      addHistory: (...args) => noticing(writer.addHistory(...args)),
      addActivity: (...args) => noticing(writer.addActivity(...args)),
      delivery: (...args) => noticing(writer.delivery(...args)),
      putDelivery: (...args) => noticing(writer.putDelivery(...args)),
      dropTenant: (...args) => noticing(writer.dropTenant(...args)),
      cleanUpSome: (...args) => noticing(Promise.resolve(writer.stepwise?.cleanUpSome(...args))),
    };
  }

  /** @throws ProjectionError; engine errors unchanged */
  async apply(projection: Projection, { event, known }: Step): Promise<void> {
    await this.#withEvent(projection, event, async () => {
      const tenant = known();
      if (tenant !== undefined) await projection.apply(event, tenant, this.#target);
    });
  }

  /** The pieces of an event. @throws ProjectionError */
  pieces(projection: Projection, step: Step): Promise<readonly Piece[]> {
    return this.#withEvent(projection, step.event, () => piecesOf(projection, step));
  }

  /** @throws ProjectionError; as it is, what an engine throws */
  applyPiece(projection: Projection, { event }: Step, piece: Piece): Promise<'done' | 'more'> {
    return this.#withEvent(projection, event, () => piece(this.#target));
  }

  /** Applies the remaining pieces of an event. @throws ProjectionError; engine errors unchanged */
  async applyRest(projection: Projection, step: Step, done: number): Promise<void> {
    for (const piece of (await this.pieces(projection, step)).slice(done)) {
      while ((await this.applyPiece(projection, step, piece)) === 'more');
    }
  }

  async #withEvent<Result>(projection: Projection, event: RecordedEvent, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw this.#engineFailed ? error : new ProjectionError(projection, event, { cause: error });
    }
  }
}

/**
 * Runs `write` in one transaction and commits its changes with the checkpoints that it returns, or nothing.
 * @throws what `write` or the engine throws
 */
export async function inTransaction(
  writer: Pick<ReadModelWriter, 'begin' | 'commit' | 'rollback'>,
  write: () => Promise<ReadonlyMap<string, Position>>,
  place?: LogAnchor,
): Promise<void> {
  await writer.begin();
  try {
    await writer.commit(await write(), place);
  } catch (error) {
    await writer.rollback();
    throw error;
  }
}

/** Failures of a transaction, by `tenantPartKey`. */
export type Failures = ReadonlyMap<string, ProjectionError>;

export const tenantPartKey = (projection: string, tenant: string): string => `${projection}.${tenant}`;

/**
 * Writes in one transaction, and retries without the events that cannot be applied until it succeeds. An event is left
 * out after its second failure: another process that projects the same log may have changed the tables under the first
 * try.
 * @param write gets all failures so far: it leaves out those events and the later ones of their parts, and parks the
 *   parts
 * @throws engine errors unchanged
 */
export async function inTransactionWithout(
  writer: ReadModelWriter,
  { projections, steps }: { readonly projections: readonly Projection[]; readonly steps: () => readonly Step[] },
  write: (failures: Failures) => Promise<ReadonlyMap<string, Position>>,
  place?: LogAnchor,
): Promise<Failures> {
  const failures = new Map<string, ProjectionError>();
  const failedOnce = new Set<string>();
  for (;;) {
    try {
      await inTransaction(writer, () => write(failures), place);
      return failures;
    } catch (error) {
      const failure = failureOf(error, projections, steps());
      if (failure === undefined) throw error;
      const part = tenantPartKey(failure.projection.name, parseStream(failure.event.stream).tenant);
      const before = failures.get(part);
      // It was left out already and still fails: retrying would never end.
      if (before !== undefined && before.event.position <= failure.event.position) throw error;
      const event = `${part} ${failure.event.position}`;
      if (failedOnce.has(event)) failures.set(part, failure);
      failedOnce.add(event);
    }
  }
}

/** The event that cannot be applied; undefined for other errors. */
function failureOf(
  error: unknown,
  projections: readonly Projection[],
  steps: readonly Step[],
): ProjectionError | undefined {
  if (error instanceof ProjectionError) return error;
  if (!(error instanceof MismatchError)) return undefined;
  const { tenant, position, projection: name } = error.mismatch;
  const projection = projections.find((each) => each.name === name);
  if (projection === undefined) return undefined;
  const ofPart = steps.filter((step) => step.tenant === tenant && isOf(projection, step));
  const found = ofPart.find(({ event }) => position === undefined || event.position === position);
  return found && new ProjectionError(projection, found.event, { cause: error });
}

const MAX_ERROR_LENGTH = 500;

/** @param checkpoint the tenant's events are applied up to here */
export function parkedAt(failure: ProjectionError, checkpoint: Position): Parked {
  const { projection, event } = failure;
  return {
    tenant: parseStream(event.stream).tenant,
    projection: projection.name,
    checkpoint,
    position: event.position,
    eventId: event.id,
    eventType: event.type,
    error: cutText(textOf(failure.cause), MAX_ERROR_LENGTH),
    since: new Date().toISOString(),
    retryAsked: false,
  };
}

/** The messages of the chain of causes, without repetition. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : textOf(error.cause);
  return cause === '' || error.message.includes(cause)
    ? error.message
    : cause.includes(error.message)
      ? cause
      : `${error.message} ${cause}`;
}

/** @throws the failure if so many parts are parked that the cause is not a tenant's data */
export function checkRoom(parked: readonly Parked[], failures: Failures): void {
  const [failure] = failures.values();
  if (failure !== undefined && parked.length + failures.size > MAX_PARKED) throw failure;
}

/**
 * The position up to which all events of the tenant are applied: that of the last one before the failure, or the
 * checkpoint.
 * @param isWaiting whether an earlier event is not applied yet either
 */
export function lastBefore(
  { projection, event }: ProjectionError,
  steps: readonly Step[],
  checkpoints: ReadonlyMap<string, Position>,
  isWaiting: (step: Step) => boolean = () => false,
): Position {
  const { tenant } = parseStream(event.stream);
  const own = steps.filter((step) => step.tenant === tenant && isOf(projection, step));
  const first = own.findIndex((step) => step.event.position >= event.position || isWaiting(step));
  const last = first === -1 ? own.at(-1) : own[first - 1];
  return Math.max(last?.event.position ?? 0, checkpoints.get(projection.name) ?? 0);
}
