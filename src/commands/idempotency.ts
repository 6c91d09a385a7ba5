/**
 * A request with an Idempotency-Key is carried out once, however often it is sent. The key is in the metadata of the events
 * that it caused; each decision looks for it in the rows, so two processes cannot both use it on one stream (decision 0011).
 */
import { hash } from 'node:crypto';
import { v5 } from 'uuid';
import { isObject } from '../domain/assetTypes/recordSchema.js';
import { keyIdOf } from '../domain/effects.js';
import type { EventKey } from '../domain/eventTypes.js';
import { IDEMPOTENCY_KEY_HOURS } from '../domain/limits.js';
import { KEYS } from '../domain/spaces.js';
import { orderStream } from '../domain/streams.js';
import type { Position, RecordedEvent, Revision } from '../ports/eventStore.js';
import { RowsUnavailableError } from '../ports/rowStore.js';
import type { FairQueue } from '../supervision/fairQueue.js';
import { type Caller, type Commands, ValidationError } from './context.js';
import { firstEvent } from './logReads.js';

/** A request that may have a key. A key belongs to its client and table. */
type Keyed = { readonly table: string; readonly key?: string | undefined; readonly body: unknown };

/** What a request with the key has done. */
type KeyUse = {
  readonly body: string;
  /** Id of the record that it created, or of the order. */
  readonly subject?: string;
  /** Of its first event; unset if an earlier release carried it out. */
  readonly revision?: Revision;
  /** Of that event. */
  readonly position: Position;
  /** Names of an answer with their values. */
  readonly counts: { readonly [name: string]: unknown };
};

/** The request was carried out before: nothing is written, and the use says what to answer. */
class KeyUsedError extends Error {
  constructor(readonly use: KeyUse) {
    super('The Idempotency-Key was used by this request before.');
  }
}

/** `isRepeated`: an earlier request with the same key has done it. */
export type Once<Answer> = Answer & { readonly isRepeated?: boolean };

/**
 * @param run gets the caller with the key, and appends as that caller
 * @param answerOf what was done before; undefined when it was nothing
 * @throws ValidationError when the key was used for another body; what `run` throws, which leaves the key free
 */
export async function once<Answer extends object>(
  commands: KeyReads & { readonly streamChanges: FairQueue },
  caller: Caller,
  { table, key, body }: Keyed,
  run: (caller: Caller) => Promise<Answer>,
  answerOf: (use: KeyUse) => Promise<Answer | undefined> | Answer | undefined,
): Promise<Once<Answer>> {
  if (key === undefined) return run(caller);
  const id = keyIdOf(hash('sha256', JSON.stringify([caller.actor.kind, caller.actor.id, table, key]), 'hex'));
  const keyed = { ...caller, key: { id, body: hashOf(body) } };
  const work = async (): Promise<Once<Answer>> => {
    try {
      await requireUnused(commands, keyed).catch((error: unknown) => {
        // An order can be created all the same: its id is derived from the key, so its stream tells.
        if (!(error instanceof RowsUnavailableError)) throw error;
      });
      return await run(keyed);
    } catch (error) {
      const answer = error instanceof KeyUsedError ? await answerOf(error.use) : undefined;
      if (answer === undefined) throw error;
      return { ...answer, isRepeated: true };
    }
  };
  return commands.streamChanges.run(id, work, caller.deadline);
}

/** To be called by a decision, on rows that show what its append expects. @throws KeyUsedError; ValidationError */
export async function requireUnused({ rows, now }: KeyReads, { tenant, key }: Caller): Promise<void> {
  if (key === undefined || rows === undefined) return;
  const [row] = (await rows.rows({ tenant, space: KEYS.name }, { ids: [key.id], keys: [] })).rows;
  if (row === undefined) return;
  const { used_at: usedAt, counts = '{}', ...use } = JSON.parse(row.data);
  // Without a position an earlier release had begun the request, and not ended it.
  if (use.position !== undefined && !isOver(usedAt, now())) throw usedFor({ ...use, counts: JSON.parse(counts) }, key);
}

/**
 * The id of an order that is created. That of a request with a key is made of it, so it is found again; each use of the key,
 * a day after the one before, has its own. @throws KeyUsedError; ValidationError
 */
export async function newOrderId(
  { eventStore, now, newId }: Pick<Commands, 'eventStore' | 'now' | 'newId'>,
  { tenant, key }: Caller,
): Promise<string> {
  if (key === undefined) return newId();
  for (let generation = 0; ; generation += 1) {
    const id = v5(String(generation), Buffer.from(key.id.replaceAll('-', ''), 'hex'));
    const first = await firstEvent(eventStore, orderStream(tenant, id));
    if (first === undefined) return id;
    if (!isOver(first.metadata.occurredAt, now())) throw createdBefore(first, id, key);
  }
}

/** What to throw where a request with the key has created an order. @param event its first */
export const createdBefore = ({ metadata, revision, position }: RecordedEvent, id: string, key: EventKey): Error =>
  usedFor({ body: metadata.key?.body ?? '', subject: id, revision, position, counts: {} }, key);

type KeyReads = Pick<Commands, 'now'> & { readonly rows?: Commands['rows'] | undefined };

/** A ValidationError when it was used for another body. */
const usedFor = (use: KeyUse, { body }: EventKey): Error =>
  use.body === body
    ? new KeyUsedError(use)
    : new ValidationError({
        'Idempotency-Key': ['The key was sent with another body; a new request needs a new key.'],
      });

const isOver = (usedAt: string, now: string): boolean =>
  Date.parse(now) - Date.parse(usedAt) >= IDEMPOTENCY_KEY_HOURS * 3_600_000;

/** Bodies that differ only in the order of members have one hash. */
function hashOf(body: unknown): string {
  const sorted = (_: string, value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  const parts = (Array.isArray(body) ? body : [body]).map((part) => JSON.stringify(part, sorted) ?? 'null');
  return hash('sha256', parts.join(''), 'base64url');
}
