/** The activity for API clients that audit. */
import { AUDIT_SCOPE } from '../../domain/identity/scopes.js';
import { activityCsv, activityCsvReply, activityList, activityReply } from '../activity.js';
import { activityDifferences, differencesReply, ENTRY_ID } from '../activityDifferences.js';
import type { Resource } from '../routes/operation.js';

export const clientActivity: Resource = {
  tag: 'activity',
  pathParameters: { id: ENTRY_ID },
  operations: {
    'GET /activity': {
      id: 'listActivity',
      ...activityList,
      allow: 'clients',
      scope: AUDIT_SCOPE,
      handle: activityReply,
    },
    'GET /activity.csv': {
      id: 'exportActivity',
      ...activityCsv,
      allow: 'clients',
      scope: AUDIT_SCOPE,
      handle: activityCsvReply,
    },
    'GET /activity/:id/differences': {
      id: 'listActivityDifferences',
      ...activityDifferences,
      allow: 'clients',
      scope: AUDIT_SCOPE,
      handle: differencesReply,
    },
  },
};
