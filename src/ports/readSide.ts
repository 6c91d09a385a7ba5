/** All reads of the read side together. Callers depend on one of the small ports. */
import type { ActivityReads } from './activity.js';
import type { DecisionReads } from './decisionReads.js';
import type { DeliveryLog } from './deliveryLog.js';
import type { HistoryReads } from './orderHistory.js';
import type { RecordReads } from './readModels.js';

export interface ReadModels extends RecordReads, HistoryReads, ActivityReads, DecisionReads, DeliveryLog {
  close(): Promise<void>;
}
