/**
 * The service's own spaces beside a tenant's tables, described as tables are, so that one list, one filter and one sort serve
 * them all. Their rows are written over and keep no past.
 */
import type { AssetType } from './assetTypes/assetType.js';
import { dateTime, integer, longText, plainString, string, tableOf } from './assetTypes/standardTables.js';
import { ORDER_MODELS, type OrderModel } from './identity/events.js';
import { onThisRelease, standardTables, type Tables } from './identity/tenantTables.js';

const space = tableOf({ supportingData: false, role: 'reference' });
const number = (names: string) => integer(names, { filterable: true, sortable: true });

/** A row for each event that somebody asked for; its id is the event's. The newest is the last that was created. */
export const ACTIVITY = space('activity', 'Activity', 'What people, clients and the service did.', [
  number('position revision'),
  string('kind table order_id subject_kind subject_id'),
  plainString('actor_kind'),
  string('actor_id'),
  plainString('actor_name'),
  string('correlation_id'),
  plainString('causation_id'),
  longText('request counts fields details'),
]);

/** A row for each delivery to a webhook; it was created when it was requested. */
export const DELIVERIES = space('deliveries', 'Deliveries', 'Deliveries to webhooks, with their attempts.', [
  string('webhook_id'),
  plainString('message_id'),
  string('kind'),
  plainString('purpose'),
  string('order_id'),
  plainString('table'),
  /** The revision of the event that it tells of. */
  number('sequence'),
  /** Of the last event of its stream. */
  integer('revision'),
  /** Of the event that requested it. */
  number('position'),
  /** open, succeeded or failed. */
  string('state'),
  dateTime('ended_at'),
  /** Of the event that ended it. */
  number('ended'),
  longText('reason'),
  plainString('retry_at'),
  /** JSON text: each attempt by its number, without what is not known yet. */
  longText('attempts'),
]);

/** A row for each sync session of a table. */
export const SYNCS = space('syncs', 'Sync sessions', 'Sync sessions of tables.', [
  string('table'),
  plainString('started_at'),
  integer('deleted'),
  plainString('operation_id'),
]);

/** A row for each Idempotency-Key; kept for a day or two. */
export const KEYS = space('keys', 'Keys', 'Requests with an Idempotency-Key.', [
  plainString('body'),
  /** Id of the record that was created, or of the order. */
  plainString('subject'),
  /** Of the event, in its stream. */
  integer('revision'),
  integer('position'),
  /** JSON text of what the answer counts. */
  longText('counts'),
  dateTime('used_at'),
]);

export const SERVICE_SPACES: Tables = new Map([ACTIVITY, DELIVERIES, SYNCS, KEYS].map((each) => [each.name, each]));

/** Whether rows that are changed or deleted stay as versions. Names of tables begin with `dyn_`. */
export const keepsPast = (name: string): boolean => !SERVICE_SPACES.has(name);

/** Definitions that were compared, with their form: comparing all of a tenant takes longer than all else of a small write. */
const FORMS: { readonly [model in OrderModel]: WeakMap<AssetType, AssetType> } = {
  dyn_stock_order: new WeakMap(),
  dyn_transport_order: new WeakMap(),
};

/**
 * A tenant's spaces in the form of this release, and those that it has added; the same object where a space is as it was. None
 * for a tenant without a table of orders: it was not created yet.
 * @param stored by an earlier release, maybe
 */
export function spacesOnThisRelease(stored: Tables): Map<string, AssetType> {
  const model = ORDER_MODELS.find((name) => stored.has(name));
  if (model === undefined) return new Map();
  const standard = new Map([...standardTables(model), ...SERVICE_SPACES]);
  const forms = FORMS[model];
  const onRelease = (kept: AssetType): AssetType => {
    const known = forms.get(kept);
    if (known !== undefined) return known;
    const now = onThisRelease(standard, kept) ?? kept;
    const form = JSON.stringify(now) === JSON.stringify(kept) ? kept : now;
    forms.set(kept, form);
    return form;
  };
  return new Map([...standard, ...[...stored].map(([name, kept]) => [name, onRelease(kept)] as const)]);
}
