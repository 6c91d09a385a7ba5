/** Create and update of one reference record (spec §4.5, §4.6). */
import { recordView } from '../../domain/assetTypes/assetType.js';
import { createRecord, type Decision, keyOf, uniqueFieldOf, updateRecord } from '../../domain/referenceTable/decide.js';
import type { StoredRecord } from '../../ports/readModels.js';
import { type CreateRecord, NotFoundError, type UpdateRecord, ValidationError } from '../context.js';
import { type KnownTable, tableWriterOf } from './tableWriter.js';

export const createReferenceRecord: CreateRecord = async (commands, caller, assetType, input) => {
  const newId = commands.newId();
  const id = input.id ?? newId;
  const wanted = { keys: [keyOf(assetType, input.fields)], ids: [id] };
  const { position, at } = await tableWriterOf(commands).write(caller, assetType, wanted, (known) =>
    accepted(createRecord(assetType, input, newId, known)),
  );
  const record = recordView(assetType, { id, createdAt: at, updatedAt: at, fields: input.fields });
  return { position, id, record };
};

export const updateReferenceRecord: UpdateRecord = async (commands, caller, assetType, id, input) => {
  const key = input.fields[uniqueFieldOf(assetType)];
  const wanted = { keys: key === undefined ? [] : [String(key)], ids: [id] };
  const currentIn = (known: KnownTable): StoredRecord => {
    const current = known.byId(id);
    if (current === undefined) throw new NotFoundError(`There is no record ${id} in ${assetType.name}.`);
    return current;
  };
  const { position, at, state } = await tableWriterOf(commands).write(caller, assetType, wanted, (known) =>
    accepted(updateRecord(assetType, currentIn(known), input, known)),
  );
  const before = currentIn(state);
  const updatedAt = position === 0 ? before.updatedAt : at;
  const record = recordView(assetType, { ...before, updatedAt, fields: { ...before.fields, ...input.fields } });
  return { position, id, record };
};

function accepted<Event>(decision: Decision<Event>): readonly Event[] {
  if (!decision.ok) throw new ValidationError(decision.errors);
  return decision.events;
}
