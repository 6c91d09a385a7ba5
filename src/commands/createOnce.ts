/**
 * A create that is carried out once. The new record gets the id of the request, so a repetition after a crash, or a
 * concurrent one, finds it.
 */

import { type AssetType, recordView } from '../domain/assetTypes/assetType.js';
import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import type { KeyedRequest } from '../domain/keyedRequest.js';
import { changedFields, uniqueFieldOf, uniqueKeyOf } from '../domain/referenceTable/decide.js';
import { orderStream } from '../domain/streams.js';
import type { Application } from './application.js';
import { CATCH_UP_MS, notCaughtUp } from './catchUp.js';
import { type Caller, patience, TryAgainError, ValidationError, type WrittenRecord } from './context.js';
import { carryOutOnce, replaying } from './keyedRequest.js';
import { createdOrder } from './orders/orderRecords.js';
import { withDeadline } from './writeStream.js';

export type Creation = {
  readonly assetType: AssetType;
  readonly key: string;
  readonly body: unknown;
  /** The fields of the record that the body names. */
  readonly fields: Fields;
};

/**
 * @param create uses the commands that it is given: their first new id becomes the record's id
 * @throws ValidationError when the key was used for another body; what `create` throws
 */
export async function createOnce(
  commands: Application,
  caller: Caller,
  creation: Creation,
  create: (commands: Application) => Promise<WrittenRecord>,
): Promise<WrittenRecord> {
  const { assetType, key, body } = creation;
  const find = replaying((request) => alreadyMade(commands, caller, creation, request));
  const run = (request: KeyedRequest): Promise<WrittenRecord> =>
    create(withFirstId(commands, request.id)).catch(async (error: unknown) => {
      // The refusal may come from a concurrent send of this very request, which was first.
      const byAnother = error instanceof ValidationError ? await find(request) : undefined;
      if (byAnother === undefined) throw error;
      return byAnother;
    });
  const named = { table: assetType.name, key, body };
  const done = await carryOutOnce<Omit<WrittenRecord, 'position'>>(commands, caller, named, { find, run });
  return { ...done, id: done.record.id };
}

/** Commands whose first new id is this one. */
function withFirstId(commands: Application, id: string): Application {
  let first: string | undefined = id;
  const newId = (): string => {
    const next = first ?? commands.newId();
    first = undefined;
    return next;
  };
  return { ...commands, newId };
}

/** The record that an earlier, unanswered run of the request created; undefined when there is none. @throws TryAgainError */
async function alreadyMade(
  commands: Application,
  caller: Caller,
  { assetType, body, fields }: Creation,
  { id, at }: KeyedRequest,
): Promise<WrittenRecord | undefined> {
  const { eventStore, readModels } = commands;
  const { tenant } = caller;
  if (assetType.role === 'order') {
    const created = await withDeadline(caller, commands.orders.loadAt(tenant, id, 0));
    if (created === undefined) return undefined;
    const { position = 0 } = (await withDeadline(caller, eventStore.lastAppend(orderStream(tenant, id)))) ?? {};
    return { position, ...createdOrder(commands, caller, assetType, id, created.state, body) };
  }
  const position = await withDeadline(caller, eventStore.head());
  if (!(await withDeadline(caller, readModels.waitFor('records', position, patience(caller, CATCH_UP_MS), tenant)))) {
    throw new TryAgainError(notCaughtUp(assetType.name));
  }
  const table = { tenant, table: assetType.name };
  if (assetType.role === 'part') {
    const found = await withDeadline(caller, readModels.get(table, id));
    return found === undefined ? undefined : { position, id, record: JSON.parse(found) };
  }
  // A key that comes back gets its former id, so the request's id does not find it (decision 0022).
  const [found] = await withDeadline(
    caller,
    readModels.find(table, uniqueFieldOf(assetType), [uniqueKeyOf(assetType, fields)]),
  );
  if (found === undefined) return undefined;
  const isSame = found.createdAt >= at && Object.keys(changedFields(found.fields, fields)).length === 0;
  return found.id === id || isSame ? { position, id: found.id, record: recordView(assetType, found) } : undefined;
}
