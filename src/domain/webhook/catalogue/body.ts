/** Bodies of attempts, and of the catalogue's examples. */
import type { ExportDocument } from '../../order/exportDocument.js';
import type { CustomData, WebhookEventKind } from '../events.js';

/** Of kinds `order.…` (spec §6.1). */
export const orderBody = (order: ExportDocument, customData: CustomData) => ({
  validated_order: order,
  custom_data: customData,
});

/** The event of a reference table that a body is about. */
export type TableEvent = {
  readonly table: string;
  readonly revision: number;
  /** ISO 8601. */
  readonly occurredAt: string;
};

/** Of kinds `reference.…`. @param counts how many records were created, updated, unchanged, or deleted */
export const tableBody = (
  kind: WebhookEventKind,
  { table, revision, occurredAt }: TableEvent,
  batchId: string | null,
  counts: { readonly [what: string]: number },
  customData: CustomData,
) => ({
  type: kind,
  timestamp: occurredAt,
  data: { table, batch_id: batchId, ...counts, revision },
  custom_data: customData,
});
