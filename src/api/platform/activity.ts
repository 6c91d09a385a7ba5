/** The activity for users: `/api/v1/platform/activity`. */
import { activityCsv, activityCsvReply, activityList, activityReply, activitySchemas } from '../activity.js';
import { activityDifferences, differenceSchemas, differencesReply, ENTRY_ID } from '../activityDifferences.js';
import type { Resource } from '../routes/operation.js';

export const activity: Resource = {
  tag: 'platform: activity',
  pathParameters: { id: ENTRY_ID },
  schemas: { ...activitySchemas, ...differenceSchemas },
  operations: {
    'GET /activity': {
      id: 'platformListActivity',
      ...activityList,
      allow: 'adminsAndAuditors',
      handle: activityReply,
    },
    'GET /activity.csv': {
      id: 'platformExportActivity',
      ...activityCsv,
      allow: 'adminsAndAuditors',
      handle: activityCsvReply,
    },
    'GET /activity/:id/differences': {
      id: 'platformListActivityDifferences',
      ...activityDifferences,
      allow: 'adminsAndAuditors',
      handle: differencesReply,
    },
  },
};
