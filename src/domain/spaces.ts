/**
 * The service's own spaces beside a tenant's tables, described as tables are, so that one list, one filter and one sort serve
 * them all. Their rows are written over and keep no past.
 */
import { dateTime, integer, longText, plainString, string, tableOf } from './assetTypes/standardTables.js';
import type { Tables } from './identity/tenantTables.js';

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
  /** Of the event, in its stream; unset where an earlier release kept the answer. */
  integer('revision'),
  /** Of the event. Unset: an earlier release has begun the request, and not ended it. */
  integer('position'),
  /** JSON text of what the answer counts. */
  longText('counts'),
  dateTime('used_at'),
]);

export const SERVICE_SPACES: Tables = new Map([ACTIVITY, DELIVERIES, SYNCS, KEYS].map((each) => [each.name, each]));

/** Whether rows that are changed or deleted stay as versions. Names of tables begin with `dyn_`. */
export const keepsPast = (name: string): boolean => !SERVICE_SPACES.has(name);
