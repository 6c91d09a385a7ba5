/** Bodies of webhook calls: what is sent, and what the catalogue's examples are made with. */
import type { ExportDocument } from '../../order/exportDocument.js';
import type { BatchCounts } from '../../referenceTable/decide.js';
import type { CustomData } from '../events.js';

/** Of kinds `order.…` (spec §6.1). */
export const orderBody = (order: ExportDocument, customData: CustomData) => ({
  validated_order: order,
  custom_data: customData,
});

/** The event of a reference table that a call tells of. */
export type TableEvent = {
  readonly table: string;
  readonly revision: number;
  /** ISO 8601. */
  readonly occurredAt: string;
};

export const batchUpsertedBody = (
  { table, revision, occurredAt }: TableEvent,
  batchId: string | null,
  { created, updated, unchanged }: BatchCounts,
  customData: CustomData,
) => ({
  type: 'reference.batch_upserted',
  timestamp: occurredAt,
  data: { table, batch_id: batchId, created, updated, unchanged, revision },
  custom_data: customData,
});

export const cleanedUpBody = (
  { table, revision, occurredAt }: TableEvent,
  batchId: string,
  deleted: number,
  customData: CustomData,
) => ({
  type: 'reference.cleaned_up',
  timestamp: occurredAt,
  data: { table, batch_id: batchId, deleted, revision },
  custom_data: customData,
});
