/** The event catalogue: the kinds of events that a webhook can subscribe to, and their bodies (spec §6, §6.5). */
import type { JsonSchema } from '../../assetTypes/outputSchema.js';
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from '../events.js';
import { exampleBody, type TenantTables } from './example.js';
import { bodySchema } from './schema.js';

export type CatalogueEntry = {
  readonly kind: WebhookEventKind;
  /** Version of the body's shape. */
  readonly version: string;
  /** When it is sent, and what it is about. */
  readonly description: string;
  /** JSON Schema 2020-12 of the body, for the tenant's own tables. */
  readonly schema: JsonSchema;
  readonly example: object;
};

/**
 * `webhook-event-version` of each kind. Raised when something in the body is removed, or changes its type or meaning; not
 * when something is added.
 */
export const PAYLOAD_VERSIONS: { readonly [kind in WebhookEventKind]: string } = {
  'order.created': '2',
  'order.updated': '2',
  'order.status_changed': '2',
  'order.approved': '2',
  'order.export_failed': '2',
  'reference.batch_upserted': '1',
  'reference.cleaned_up': '1',
};

const DESCRIPTIONS: { readonly [kind in WebhookEventKind]: string } = {
  'order.created':
    'An order was created, with the parts that were sent with it (lines, or consignments, goods and charges). A part added later is an order.updated.',
  'order.updated': 'Fields of an order were changed, or parts of it were added, changed or removed.',
  'order.status_changed': 'The processing_status of an order changed, also by an approval or a failed export.',
  'order.approved':
    'An order was approved: this is its export. The body is the order as approved, the same at each attempt and resend. Only a failed delivery of this kind changes the order: after the fifth failed attempt its status is failed.',
  'order.export_failed':
    'The last attempt to deliver an order.approved failed: the order is with the validators again, with the reasons in error_reason.',
  'reference.batch_upserted':
    'A batch changed a reference table. One delivery for each batch_id in the batch; a batch of very large records may take several.',
  'reference.cleaned_up': 'A clean-up deleted the records of a reference table that did not have the batch_id.',
};

/** Every kind, for a tenant's own tables. */
export const eventCatalogue = (tenant: TenantTables): readonly CatalogueEntry[] =>
  WEBHOOK_EVENT_KINDS.map((kind) => ({
    kind,
    version: PAYLOAD_VERSIONS[kind],
    description: DESCRIPTIONS[kind],
    schema: bodySchema(kind, tenant),
    example: exampleBody(kind, tenant, { warehouse: 'north' }),
  }));
