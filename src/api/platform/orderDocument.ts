/** One order with everything that belongs to it, for the screen on which it is validated. */
import type { Commands } from '../../commands/context.js';
import { exportSnapshot } from '../../commands/orders/exportSnapshot.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { approverOf, type ExportDocument, orderDocument as expanded } from '../../domain/order/exportDocument.js';
import type { Order } from '../../domain/order/order.js';
import { EXAMPLE_ID } from '../openapi/examples.js';
import * as json from '../openapi/schema.js';

/** Shaped like the export that an approval would send (spec §2.3), with the order's own status, reasons and approval. */
export async function orderDocument(
  commands: Commands,
  tenant: Tenant,
  orderId: string,
  order: Order,
): Promise<ExportDocument> {
  const snapshot = await exportSnapshot(commands, tenant.name, orderId, order);
  const document = expanded(snapshot, undefined, tenant.assetTypes);
  // Nobody approved it, or the user who did was removed since.
  const user = tenant.users.get(Number(order.fields.approved_by ?? 0));
  return { ...document, ...snapshot.order, approver: user === undefined ? null : approverOf(user) };
}

/** The order's record, and an object or a list for each of its relationships. */
export function orderDocumentResponse(orderType: AssetType): json.ResponseObject {
  const relations = orderType.relationships.map(({ name, kind }): [string, json.JsonSchema] => [
    name,
    kind === 'has_many' ? json.listOf({ type: 'object' }) : { type: ['object', 'null'] },
  ]);
  const schema = {
    type: 'object',
    properties: {
      id: { type: 'string', format: 'uuid', examples: [EXAMPLE_ID] },
      ...Object.fromEntries(relations),
      approver: { description: 'The user who approved.', type: ['object', 'null'] },
    },
    required: ['id', ...relations.map(([name]) => name), 'approver'],
    description: `The fields of ${orderType.name}, and what belongs to it.`,
  };
  return json.answer('The order.', json.dataOf(schema));
}
