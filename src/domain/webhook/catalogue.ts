/**
 * The event catalogue: the kinds of events that a webhook can subscribe to, and their bodies (spec §6, §6.5). One table says
 * all of a kind.
 */

import { EXAMPLE_TIME, type Fields } from '../assetTypes/fieldTypes.js';
import type { EventOf } from '../eventTypes.js';
import type { StatusChange } from '../order/events.js';
import { type Approval, orderDocument } from '../order/exportDocument.js';
import { FAILED, type OrderStatus } from '../order/status.js';
import { CREATED_AT, exampleSnapshot, type TenantTables } from './exampleOrder.js';

type Kind = {
  /** Types of events of the log that cause it. */
  readonly causes: readonly string[];
  /**
   * `webhook-event-version`. Raised when something in the body is removed, or changes its type or meaning; not when something
   * is added.
   */
  readonly version: string;
  /** When it is sent, and what it is about. */
  readonly description: string;
  /** The body before the custom data; a test delivery sends it. */
  readonly example: (tenant: TenantTables, kind: string) => object;
};

const APPROVAL: Approval = {
  approvedAt: EXAMPLE_TIME,
  approver: { id: 7, first_name: 'Eva', last_name: 'Smit', locale: 'nl_NL', email: 'eva@acme.example' },
};

/** @param values of the example, in place of those of the order @param approval whether the example was approved */
const orderKind = (causes: readonly string[], description: string, values: Fields, approval?: Approval): Kind => ({
  causes,
  version: '2',
  description,
  example: (tenant) => ({
    validated_order: orderDocument(exampleSnapshot(tenant), approval, tenant.assetTypes, values),
  }),
});

type Counts = { readonly [what: string]: number };

/** @param counts examples of how many records were created, updated and so on */
const tableKind = (causes: readonly string[], description: string, counts: Counts): Kind => ({
  causes,
  version: '1',
  description,
  example: (_, kind) =>
    tableBody(kind, { table: 'dyn_party', revision: 42, occurredAt: EXAMPLE_TIME }, 'sync-2026-11-21', counts),
});

/** The body of kinds `reference.…` before the custom data. @param counts of created, updated, unchanged, or deleted records */
export const tableBody = (
  kind: string,
  { table, revision, occurredAt }: { readonly table: string; readonly revision: number; readonly occurredAt: string },
  batchId: string | null,
  counts: Counts,
) => ({ type: kind, timestamp: occurredAt, data: { table, batch_id: batchId, ...counts, revision } });

const FAILURES = [
  'All 5 attempts to deliver to webhook ERP failed.',
  ...[1, 2, 3, 4, 5].map((attempt) => `Attempt ${attempt}: The receiver answered 503.`),
];

const KINDS = {
  'order.created': orderKind(
    ['OrderCreated', 'OrderCreatedWithParts'],
    'An order was created, with the parts that were sent with it (lines, or consignments, goods and charges). A part added later is an order.updated.',
    { processing_status: 'pending_validation', updated_at: CREATED_AT },
  ),
  'order.updated': orderKind(
    ['OrderChanged', 'OrderPartAdded', 'OrderPartChanged', 'OrderPartsChanged'],
    'Fields of an order were changed, or parts of it were added, changed or removed.',
    { processing_status: 'saved' },
  ),
  /** Also caused by each other event that moves the status of an order. */
  'order.status_changed': orderKind(
    [],
    'The processing_status of an order changed, also by an approval or a failed export.',
    { processing_status: 'completed' },
    APPROVAL,
  ),
  'order.approved': orderKind(
    ['OrderApproved'],
    'An order was approved: this is its export. The body is the order as approved, the same at each attempt and resend. Only a failed delivery of this kind changes the order: after the fifth failed attempt its status is failed.',
    { processing_status: 'submitted' },
    APPROVAL,
  ),
  'order.export_failed': orderKind(
    ['OrderExportFailed'],
    'The last attempt to deliver an order.approved failed: the order is with the validators again, with the reasons in error_reason.',
    { processing_status: FAILED, error_reason: FAILURES },
    APPROVAL,
  ),
  'reference.batch_upserted': tableKind(
    ['BatchUpserted', 'BatchUndone'],
    'A batch changed a reference table. One delivery for each batch_id in the batch; a batch of very large records may take several.',
    { created: 12, updated: 3, unchanged: 985 },
  ),
  'reference.cleaned_up': tableKind(
    ['TableCleanedUp'],
    'A clean-up deleted the records of a reference table that did not have the batch_id.',
    { deleted: 7 },
  ),
};

/** What a webhook can subscribe to. */
export type WebhookEventKind = keyof typeof KINDS;
const isKind = (name: string): name is WebhookEventKind => Object.hasOwn(KINDS, name);
export const WEBHOOK_EVENT_KINDS: readonly WebhookEventKind[] = Object.keys(KINDS).filter(isKind);

/**
 * The kinds of an event of the log, in the order of `WEBHOOK_EVENT_KINDS`: one event may have several, most have none.
 */
export function kindsOf({ type, data }: EventOf<string, unknown>): readonly WebhookEventKind[] {
  // A new order has no status before.
  const { status } = (data ?? {}) as { readonly status?: StatusChange | OrderStatus };
  const isMoved = type.startsWith('Order') && typeof status === 'object' && status.from !== status.to;
  const isCaused = (kind: WebhookEventKind) =>
    KINDS[kind].causes.includes(type) || (isMoved && kind === 'order.status_changed');
  return WEBHOOK_EVENT_KINDS.filter(isCaused);
}

export const payloadVersion = (kind: WebhookEventKind): string => KINDS[kind].version;

export const exampleBody = (kind: WebhookEventKind, tenant: TenantTables, customData: object): object => ({
  ...KINDS[kind].example(tenant, kind),
  custom_data: customData,
});

export type CatalogueEntry = Pick<Kind, 'version' | 'description'> & {
  readonly kind: WebhookEventKind;
  readonly example: object;
};

/** Every kind, with examples of a tenant's own tables. */
export const eventCatalogue = (tenant: TenantTables): readonly CatalogueEntry[] =>
  WEBHOOK_EVENT_KINDS.map((kind) => {
    const { version, description } = KINDS[kind];
    return { kind, version, description, example: exampleBody(kind, tenant, { warehouse: 'north' }) };
  });
