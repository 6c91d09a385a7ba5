/** All reads of the read models, as an adapter offers them. Callers depend on one of the small ports. */
import type { DecisionReads } from './decisionReads.js';
import type { DeliveryLog } from './deliveryLog.js';
import type { ProjectionProgress, RecordQueries } from './readModels.js';

/** What an adapter opens. */
export interface ReadModels extends RecordQueries, DecisionReads, DeliveryLog, ProjectionProgress {
  close(): Promise<void>;
}

/**
 * All of the read models, by way of whatever `asked` makes of each of its methods.
 * @param asked is given which method it is
 */
export function readModelsBy(
  asked: <Asked extends unknown[], Answer>(
    method: (models: ReadModels) => (...asked: Asked) => Promise<Answer>,
  ) => (...asked: Asked) => Promise<Answer>,
  close: ReadModels['close'],
): ReadModels {
  return {
    get: asked((models) => models.get),
    list: asked((models) => models.list),
    listBehind: asked((models) => models.listBehind),
    byIds: asked((models) => models.byIds),
    cleanedUpIds: asked((models) => models.cleanedUpIds),
    tableState: asked((models) => models.tableState),
    tableFigures: asked((models) => models.tableFigures),
    snapshot: asked((models) => models.snapshot),
    countOutsideBatch: asked((models) => models.countOutsideBatch),
    someOutsideBatch: asked((models) => models.someOutsideBatch),
    deletedRecords: asked((models) => models.deletedRecords),
    find: asked((models) => models.find),
    history: asked((models) => models.history),
    approvals: asked((models) => models.approvals),
    delivery: asked((models) => models.delivery),
    deliveries: asked((models) => models.deliveries),
    webhookHealth: asked((models) => models.webhookHealth),
    deliveryBacklog: asked((models) => models.deliveryBacklog),
    checkpoint: asked((models) => models.checkpoint),
    checkpoints: asked((models) => models.checkpoints),
    anchor: asked((models) => models.anchor),
    parked: asked((models) => models.parked),
    outOfOrder: asked((models) => models.outOfOrder),
    waitFor: asked((models) => models.waitFor),
    waitForEvent: asked((models) => models.waitForEvent),
    close,
  };
}
