/** The history of records and of parts of orders, for API clients. That of orders is in history.ts. */
import { recordHistoryList, recordHistoryReply, recordHistorySchemas } from '../recordHistory.js';
import { RECORD_ID, type Resource } from '../routes/operation.js';

export const recordHistory: Resource = {
  tag: 'assets',
  pathParameters: { id: RECORD_ID },
  schemas: recordHistorySchemas,
  operations: {
    'GET /:table/assets/:id/history': {
      id: 'listHistory',
      ...recordHistoryList,
      allow: 'read',
      isOffered: ({ role }) => role !== 'order',
      handle: (api, { req, assetType, path, query }) => recordHistoryReply(api, { req, assetType, id: path.id, query }),
    },
  },
};
