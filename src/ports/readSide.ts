/** Everything that is read from the read models. Whoever asks names only the part that it needs. */
import type { DecisionReads } from './decisionReads.js';
import type { DeliveryLog } from './deliveryLog.js';
import type { ProjectionProgress, RecordQueries } from './readModels.js';

/** What an adapter opens. */
export interface ReadModels extends RecordQueries, DecisionReads, DeliveryLog, ProjectionProgress {
  close(): Promise<void>;
}
