/** Undoing a clean-up of Reference Data. */
import { undoBody, undoCleanUp } from '../../commands/referenceTables/undo.js';
import { MAX_UNDONE_RECORDS } from '../../domain/limits.js';
import type { LeftAlone } from '../../domain/referenceTable/undo.js';
import * as json from '../openapi/schema.js';
import { dataReply, pathText, type Resource } from '../routes/operation.js';
import { DRY_RUN, isDryRun } from './dryRun.js';

const leftAlone: json.JsonSchema = {
  type: 'object',
  properties: {
    id: json.uuid,
    key: json.text,
    reason: {
      ...json.oneOf(['changed', 'key_taken']),
      description: 'changed: it has come back with other values. key_taken: another record has its key.',
    },
    fields: { ...json.listOf(json.text), description: 'Those that have other values.' },
    taken_by: { ...json.uuid, description: 'Id of the record that has the key.' },
  },
  required: ['id', 'key', 'reason'],
};

const showLeft = (left: LeftAlone) =>
  left.reason === 'changed' ? left : { id: left.id, key: left.key, reason: left.reason, taken_by: left.takenBy };

const counts = {
  message: json.text,
  restored: json.count,
  unchanged: { ...json.count, description: 'They are there as they were.' },
  left: { ...json.listOf(json.ref('LeftAlone')), maxItems: MAX_UNDONE_RECORDS },
  unavailable: {
    ...json.count,
    description: 'A later clean-up has deleted the same id or key: it can be undone first.',
  },
  next: {
    ...json.orNull(json.uuid),
    description: 'To be sent as `after` with the next request; null: this was the last.',
  },
};

export const undo: Resource = {
  tag: '',
  pathParameters: { id: { ...pathText('operation_id'), example: '1042' } },
  schemas: {
    LeftAlone: leftAlone,
    UndoResult: {
      type: 'object',
      properties: { ...counts, dry_run: { type: 'boolean', const: true } },
      required: Object.keys(counts),
      examples: [
        { message: 'Undo: 12 records are back.', restored: 12, unchanged: 0, left: [], unavailable: 0, next: null },
      ],
    },
  },
  operations: {
    'POST /:table/operations/:id/undo': {
      id: 'undo',
      summary: 'Bring back what a clean-up deleted',
      description: `With the ids and values of then; created_at is new. What has changed since is told and left alone. At most ${MAX_UNDONE_RECORDS} records in a request: repeat it with \`after\` until \`next\` is null.`,
      allow: 'write:reference_data',
      isOffered: ({ supportingData }) => supportingData,
      query: [DRY_RUN],
      body: { ...json.bodyOf(undoBody, { after: '0198c1f2-0000-7000-8000-000000000001' }), optional: true },
      answer: json.one('UndoResult', 'They are back, but those that are told.'),
      errors: [409],
      async handle({ commands }, { caller, assetType, path, query, body }) {
        const dryRun = isDryRun(query);
        const undone = await undoCleanUp(commands, caller, assetType, path.id, body, { dryRun });
        const { position, restored, unchanged, left, unavailable, next = null } = undone;
        const message = dryRun
          ? `Dry run: ${restored} records would be brought back; nothing was written.`
          : `Undo: ${restored} records are back.`;
        const result = { message, restored, unchanged, left: left.map(showLeft), unavailable, next };
        return dataReply({ ...result, ...(dryRun ? { dry_run: true } : {}) }, { written: position });
      },
    },
  },
};
