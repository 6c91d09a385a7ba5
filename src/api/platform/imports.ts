/** What integrators do with reference tables, done by a person: `/api/v1/platform/tables`. All roles read syncs; admins import and undo. */

import { OPERATION_ID, undoingOperation } from '../assets/operations.js';
import { batchOf, batchReply, writingBatch } from '../assets/synchronize.js';
import {
  commitReply,
  committingSync,
  oneSync,
  SYNC_ID,
  startingSync,
  startReply,
  syncReply,
  syncsList,
  syncsReply,
  undoingSync,
} from '../assets/syncs.js';
import { type Handler, pathText, type Resource, type TableCall, type UserCall } from '../routes/operation.js';
import { anyFields, tableOf } from './tables.js';

/** The operation of clients, on the table that the path names. */
const onTable =
  (handle: Handler<TableCall>): Handler<UserCall> =>
  (api, call) =>
    handle(api, { ...call, assetType: tableOf(call) });

export const tableSyncs: Resource = {
  tag: 'platform: tables',
  pathParameters: { table: pathText('table'), id: SYNC_ID },
  operations: {
    'POST /tables/:table/assets/batch': {
      id: 'platformWriteBatch',
      ...writingBatch,
      description: 'All items or none; matched on the unique field of the table. As in an import of a file.',
      allow: 'admins',
      body: {
        limit: 'batch',
        schema: batchOf({ ...anyFields, additionalProperties: true }),
        example: { items: [{ external_id: 'I1', name: 'Tea' }] },
      },
      handle: onTable(batchReply),
    },
    'GET /tables/:table/syncs': {
      id: 'platformListSyncs',
      ...syncsList,
      allow: 'users',
      handle: (api, call) => syncsReply(api, call, tableOf(call)),
    },
    'GET /tables/:table/syncs/:id': {
      id: 'platformGetSync',
      ...oneSync,
      allow: 'users',
      handle: (api, call) => syncReply(api, call, tableOf(call)),
    },
    'POST /tables/:table/syncs': {
      id: 'platformStartSync',
      ...startingSync,
      allow: 'admins',
      handle: onTable(startReply),
    },
    'POST /tables/:table/syncs/:id/commit': {
      id: 'platformCommitSync',
      ...committingSync,
      allow: 'admins',
      handle: onTable(commitReply),
    },
    'POST /tables/:table/syncs/:id/undo': {
      id: 'platformUndoSync',
      ...undoingSync,
      allow: 'admins',
      handle: onTable(undoingSync.handle),
    },
  },
};

export const tableUndos: Resource = {
  tag: 'platform: tables',
  pathParameters: { table: pathText('table'), id: OPERATION_ID },
  operations: {
    'POST /tables/:table/operations/:id/undo': {
      id: 'platformUndoOperation',
      ...undoingOperation,
      allow: 'admins',
      handle: onTable(undoingOperation.handle),
    },
  },
};
