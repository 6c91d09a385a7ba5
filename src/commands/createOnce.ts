/**
 * A create that is carried out once, however often it is sent: its client has named it with a key. The key has a stream of
 * its own, in which the first request takes it for its body. What it creates gets the id that stands there, so whoever
 * carries it out again, after a crash or at the same time, finds it made (decision 0027).
 */
import { createHash } from 'node:crypto';
import { type AssetType, recordView } from '../domain/assetTypes/assetType.js';
import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import { evolve, type KeyedRequest, type KeyedRequestEvent } from '../domain/keyedRequest.js';
import { IDEMPOTENCY_KEY_HOURS } from '../domain/limits.js';
import { changedFields, keyOf, uniqueFieldOf } from '../domain/referenceTable/decide.js';
import { orderStream, requestStream } from '../domain/streams.js';
import { type Caller, type Commands, patience, TryAgainError, ValidationError, type WrittenRecord } from './context.js';
import { loadOrderAt } from './orders/loadOrder.js';
import { createdOrder } from './orders/orderRecords.js';
import { shareTableWriter } from './referenceTables/tableWriter.js';
import { appendIfUnchanged, inTime, loadStream, type StreamEnd, type Written, writeStream } from './writeStream.js';

/** What a client has named. */
export type Keyed = {
  readonly assetType: AssetType;
  readonly key: string;
  readonly body: unknown;
  /** The fields of the record that the body names. */
  readonly fields: Fields;
};

/**
 * @param create with the commands that it is given, of which the first new id is the record's
 * @throws ValidationError where the key stands for another body; whatever `create` throws
 */
export async function createOnce(
  commands: Commands,
  caller: Caller,
  keyed: Keyed,
  create: (commands: Commands) => Promise<WrittenRecord>,
): Promise<WrittenRecord> {
  const stream = streamOf(caller, keyed);
  const { request, end, isNew } = await accept(commands, caller, stream, hashOf(keyed.body));
  if (request.answer !== undefined) {
    // Reads that have come so far show it.
    const position = await inTime(caller, commands.eventStore.head());
    return { position, id: request.answer.record.id, ...request.answer };
  }
  const made = isNew ? undefined : await alreadyMade(commands, caller, keyed, request);
  if (made !== undefined) return made;
  const written = await create(withFirstId(commands, request.id)).catch(async (error: unknown) => {
    // Refused because the same request, sent at the same time, was first?
    const byAnother = error instanceof ValidationError && (await alreadyMade(commands, caller, keyed, request));
    if (!byAnother) throw error;
    return byAnother;
  });
  const { record, lists } = written;
  const events: KeyedRequestEvent[] = [
    { type: 'RequestAnswered', data: lists === undefined ? { record } : { record, lists } },
  ];
  // The record stands in any case: without this, the next one to ask finds it by its id.
  await appendIfUnchanged(commands, caller, stream, end, events).catch(() => undefined);
  return written;
}

/** A key belongs to its client and table. */
function streamOf({ tenant, actor }: Caller, { assetType, key }: Keyed): string {
  const name = createHash('sha256').update(JSON.stringify([actor.kind, actor.id, assetType.name, key]));
  return requestStream(tenant, name.digest('hex'));
}

/** The same for bodies that mean the same: members of an object have no order. */
function hashOf(body: unknown): string {
  const sorted = (_: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return createHash('sha256').update(JSON.stringify(body, sorted)).digest('base64url');
}

/** @throws ValidationError where the key stands for another body */
async function accept(
  commands: Commands,
  caller: Caller,
  stream: string,
  body: string,
): Promise<{ readonly request: KeyedRequest; readonly end: StreamEnd; readonly isNew: boolean }> {
  const written: Written<KeyedRequest | undefined, KeyedRequestEvent> = await writeStream(commands, caller, {
    stream,
    name: 'The Idempotency-Key',
    load: () =>
      loadStream<KeyedRequest>(commands.eventStore, stream, (before, { type, data, metadata }) =>
        evolve(before, { type, data } as KeyedRequestEvent, metadata.occurredAt),
      ),
    decide: (request, at) =>
      isKept(request, at) ? [] : [{ type: 'RequestAccepted', data: { body, id: commands.newId() } }],
  });
  const { state, revision, at, events } = written;
  const request = events.reduce<KeyedRequest | undefined>((before, event) => evolve(before, event, at), state);
  if (request === undefined) throw new Error(`${stream} has no first event.`);
  if (request.body !== body) {
    throw new ValidationError({
      'Idempotency-Key': ['The key was sent with another body; a new request needs a new key.'],
    });
  }
  return { request, end: { revision, lastEventAt: at }, isNew: events.length > 0 };
}

const HOUR_MS = 3_600_000;

const isKept = (request: KeyedRequest | undefined, now: string): boolean =>
  request !== undefined && Date.parse(now) - Date.parse(request.at) < IDEMPOTENCY_KEY_HOURS * HOUR_MS;

/** Of the ids that these commands make, the first is this. */
function withFirstId(commands: Commands, id: string): Commands {
  let first: string | undefined = id;
  const newId = (): string => {
    const next = first ?? commands.newId();
    first = undefined;
    return next;
  };
  const own = { ...commands, newId };
  shareTableWriter(commands, own);
  return own;
}

/** How long to wait for the read models, in milliseconds. */
const CATCH_UP_MS = 30_000;

/** What was made for the request before, and not noted as its answer; undefined where nothing was. @throws TryAgainError */
async function alreadyMade(
  commands: Commands,
  caller: Caller,
  { assetType, body, fields }: Keyed,
  { id, at }: KeyedRequest,
): Promise<WrittenRecord | undefined> {
  const { eventStore, readModels } = commands;
  const { tenant } = caller;
  if (assetType.role === 'order') {
    const created = await inTime(caller, loadOrderAt(eventStore, tenant, id, 0));
    if (created === undefined) return undefined;
    const { position = 0 } = (await inTime(caller, eventStore.lastAppend(orderStream(tenant, id)))) ?? {};
    return { position, ...createdOrder(commands, caller, assetType, id, created.state, body) };
  }
  const position = await inTime(caller, eventStore.head());
  if (!(await inTime(caller, readModels.waitFor('records', position, patience(caller, CATCH_UP_MS), tenant)))) {
    throw new TryAgainError(`The read model of ${assetType.name} has not caught up yet.`);
  }
  const table = { tenant, table: assetType.name };
  if (assetType.role === 'part') {
    const found = await inTime(caller, readModels.get(table, id));
    return found === undefined ? undefined : { position, id, record: JSON.parse(found) };
  }
  // Its id may be the one that its key had before (decision 0022).
  const [found] = await inTime(caller, readModels.find(table, uniqueFieldOf(assetType), [keyOf(assetType, fields)]));
  if (found === undefined) return undefined;
  const isSame = found.createdAt >= at && Object.keys(changedFields(found.fields, fields)).length === 0;
  return found.id === id || isSame ? { position, id: found.id, record: recordView(assetType, found) } : undefined;
}
