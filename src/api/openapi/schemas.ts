/** Answers that are the same for every tenant. */
import { FIELD_TYPES } from '../../domain/assetTypes/fieldTypes.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { ROLES, SCOPES } from '../../domain/identity/scopes.js';
import { type DisabledCause, WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import { EXAMPLE_ID } from './examples.js';
import { closedObject, type JsonSchema, type Schemas, schemaRef } from './types.js';

const DISABLED_CAUSES: readonly DisabledCause[] = ['admin', 'gone', 'failing'];

const text: JsonSchema = { type: 'string' };
const nullableText: JsonSchema = { type: ['string', 'null'] };
const truth: JsonSchema = { type: 'boolean' };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const uuid: JsonSchema = { type: 'string', format: 'uuid' };
const url: JsonSchema = { type: 'string', format: 'uri' };
const timestamp: JsonSchema = { type: 'string', format: 'date-time' };
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
const oneOf = (values: readonly string[]): JsonSchema => ({ type: 'string', enum: values });
const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });

/** `dry_run: true` stands beside the counts of a dry run. */
const withDryRun = (counts: Schemas): JsonSchema => ({
  type: 'object',
  properties: { ...counts, dry_run: { type: 'boolean', const: true } },
  required: Object.keys(counts),
});

const assetHeading = {
  name: text,
  label: text,
  description: text,
  kind: oneOf(['reference', 'master']),
  supporting_data: truth,
};
const assetLinks = closedObject({ info: url, assets: url });

export const assetSchemas: Schemas = {
  PageLinks: closedObject({ first: url, last: url, prev: orNull(url), next: orNull(url) }),
  PageMeta: closedObject({
    current_page: count,
    from: count,
    to: count,
    per_page: count,
    last_page: count,
    total: count,
  }),
  Asset: closedObject({ ...assetHeading, links: assetLinks }),
  AssetType: {
    ...closedObject({
      ...assetHeading,
      unique_field: nullableText,
      fields: listOf(schemaRef('AssetField')),
      relationships: listOf(
        closedObject({ name: text, kind: oneOf(['belongs_to', 'has_many']), table: text, field: text, key: text }),
      ),
      json_schema: { type: 'object', description: 'Body of a create, as JSON Schema 2020-12.' },
    }),
  },
  AssetField: closedObject({
    name: text,
    label: text,
    type: oneOf(FIELD_TYPES),
    required: truth,
    nullable: truth,
    unique: truth,
    filterable: truth,
    sortable: truth,
    read_only: truth,
    max_length: { type: ['integer', 'null'], description: 'In characters.' },
    format: nullableText,
    list: truth,
    one_of: orNull(listOf(text)),
    custom: { type: 'boolean', description: 'Added by the organisation.' },
  }),
  BatchResult: {
    ...withDryRun({ message: text, created: count, updated: count, unchanged: count }),
    examples: [{ message: 'Batch upsert of 3 items succeeded.', created: 1, updated: 1, unchanged: 1 }],
  },
  CleanUpResult: {
    ...withDryRun({ message: text, deleted: count }),
    examples: [{ message: 'Clean-up succeeded: 12 records were deleted.', deleted: 12 }],
  },
  HistoryEntry: closedObject({
    id: uuid,
    event: text,
    occurred_at: timestamp,
    actor: {
      type: 'object',
      properties: { kind: oneOf(['client', 'user', 'operator', 'system']), id: text, name: text },
      required: ['kind', 'id'],
    },
    status_from: nullableText,
    status_to: text,
    reasons: listOf(text),
    changes: listOf(closedObject({ table: text, id: uuid, field: text, from: {}, to: {} })),
    revision: count,
    position: count,
    correlation_id: text,
    causation_id: text,
  }),
};

const client = {
  client_id: uuid,
  name: text,
  scopes: listOf(oneOf(SCOPES)),
  created_at: timestamp,
};
const webhook = {
  id: uuid,
  name: text,
  url,
  events: listOf(oneOf(WEBHOOK_EVENT_KINDS)),
  custom_data: { type: 'object' },
  enabled: { type: 'boolean', description: 'Nothing is sent to one that is not; what is for it waits.' },
  disabled: orNull(closedObject({ cause: oneOf(DISABLED_CAUSES), reason: text, since: timestamp })),
  rotating: { type: 'boolean', description: 'Whether a staged secret signs beside the primary one.' },
  created_at: timestamp,
} satisfies { readonly [name: string]: JsonSchema };

export const platformSchemas: Schemas = {
  User: {
    ...closedObject({
      id: { type: 'integer', minimum: 1 },
      first_name: text,
      last_name: text,
      locale: text,
      email: text,
      roles: listOf(oneOf(ROLES)),
    }),
    examples: [
      { id: 1, first_name: 'Vera', last_name: 'Bos', locale: 'nl', email: 'vera@example.com', roles: ['validator'] },
    ],
  },
  Session: closedObject({
    token: { type: 'string', description: 'To be sent as a bearer token.' },
    expires_in: { type: 'integer', description: 'Seconds.' },
    user: schemaRef('User'),
  }),
  ApiClient: closedObject(client),
  ApiClientWithSecret: closedObject({
    ...client,
    client_secret: { type: 'string', description: 'Shown this once.' },
  }),
  Webhook: {
    ...closedObject(webhook),
    examples: [
      {
        id: EXAMPLE_ID,
        name: 'erp.example.com',
        url: 'https://erp.example.com/orders',
        events: ['order.approved'],
        custom_data: {},
        enabled: true,
        disabled: null,
        rotating: false,
        created_at: '2026-11-21T03:11:47.123456Z',
      },
    ],
  },
  WebhookWithSecret: closedObject({
    ...webhook,
    secret: { type: 'string', description: 'Shown this once; the key of the Signature header (HMAC-SHA256).' },
  }),
  Tenant: closedObject({
    name: text,
    display_name: text,
    order_model: oneOf(ORDER_MODELS),
    rate_limit: orNull(closedObject({ per_second: count, burst: count })),
  }),
};
