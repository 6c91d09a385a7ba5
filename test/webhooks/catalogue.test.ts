import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent, OrderModel } from '#app/domain/identity/events.js';
import {
  eventCatalogue,
  payloadVersion,
  WEBHOOK_EVENT_KINDS,
  type WebhookEventKind,
} from '#app/domain/webhook/catalogue.js';
import { catalogueMarkdown } from './catalogueMarkdown.js';
import { errorsOf } from './schemaCheck.js';

function tenantOf(orderModel: OrderModel, ...events: readonly DirectoryEvent[]): Tenant {
  const created = { type: 'TenantCreated', data: { name: 'acme', displayName: 'Acme', orderModel } } as const;
  const all: readonly DirectoryEvent[] = [created, ...events];
  const tenant = all.reduce<Tenant | undefined>((known, event) => evolveTenant(known, event, ''), undefined);
  if (tenant === undefined) throw new Error('There is no tenant.');
  return tenant;
}

/** A field of every type, all required. */
const customized = ['String', 'LongText', 'Integer', 'Decimal', 'Date', 'DateTime', 'Boolean'].map(
  (type) =>
    ({
      type: 'AssetFieldAdded',
      data: {
        table: 'dyn_party',
        field: {
          name: `own_${type.toLowerCase()}`,
          label: `Own ${type}`,
          type,
          required: true,
          filterable: false,
          sortable: false,
          custom: true,
        },
      },
    }) as DirectoryEvent,
);

const TENANTS: readonly [string, Tenant][] = [
  ['the stock model', tenantOf('dyn_stock_order')],
  ['the transport model', tenantOf('dyn_transport_order')],
  ['a customized stock model', tenantOf('dyn_stock_order', ...customized)],
];

const stock = tenantOf('dyn_stock_order');

function entryOf(kind: WebhookEventKind, tenant = stock) {
  const entry = eventCatalogue(tenant).find((each) => each.kind === kind);
  if (entry === undefined) throw new Error(`${kind} is not in the catalogue.`);
  return entry;
}

// biome-ignore lint/suspicious/noExplicitAny: examples are changed here in ways that their schemas refuse.
type Body = any;
const exampleOf = (kind: WebhookEventKind): Body => structuredClone(entryOf(kind).example);

describe('the event catalogue (spec §6, §6.5)', () => {
  test('has every kind that a webhook can subscribe to, once, with version and description', () => {
    const entries = eventCatalogue(stock);
    expect(entries.map(({ kind }) => kind)).toEqual(WEBHOOK_EVENT_KINDS);
    for (const { kind, version, description } of entries) {
      expect(version).toBe(payloadVersion(kind));
      expect(version).toMatch(/^[1-9]\d*$/);
      expect(description).toMatch(/^[A-Z].+\.$/);
    }
  });

  describe.each(TENANTS)('%s', (_, tenant) => {
    test.each(WEBHOOK_EVENT_KINDS)('the example of %s is as its schema says, and has nothing besides', (kind) => {
      const { schema, example } = entryOf(kind, tenant);
      expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
      expect(errorsOf(schema, example)).toEqual([]);
    });
  });

  const refused: readonly [string, WebhookEventKind, (body: Body) => void][] = [
    ['a third root', 'order.created', (body) => (body.type = 'order.created')],
    ['no custom data', 'order.created', (body) => delete body.custom_data],
    ['an unknown status', 'order.updated', (body) => (body.validated_order.processing_status = 'eaten')],
    ['an approval without approver', 'order.approved', (body) => (body.validated_order.approver = null)],
    [
      'an approval that is not submitted',
      'order.approved',
      (body) => (body.validated_order.processing_status = 'saved'),
    ],
    [
      'an approval in ISO 8601',
      'order.approved',
      (body) => (body.validated_order.approved_at = '2026-11-21T03:11:47Z'),
    ],
    [
      'a failure that is not failed',
      'order.export_failed',
      (body) => (body.validated_order.processing_status = 'saved'),
    ],
    ['a line without quantity', 'order.approved', (body) => delete body.validated_order.lines[0].quantity],
    ['an item that is a text', 'order.approved', (body) => (body.validated_order.lines[0].item = 'tea')],
    ['a party with a wrong id', 'order.created', (body) => (body.validated_order.buyer_customer_party.id = '1')],
    ['another kind', 'reference.cleaned_up', (body) => (body.type = 'reference.batch_upserted')],
    ['a negative count', 'reference.batch_upserted', (body) => (body.data.created = -1)],
    ['no table', 'reference.cleaned_up', (body) => delete body.data.table],
  ];
  test.each(refused)('%s is not as the schema says', (_, kind, spoil) => {
    const body = exampleOf(kind);
    spoil(body);
    expect(errorsOf(entryOf(kind).schema, body)).not.toEqual([]);
  });
});

describe('docs/webhook-events.md', () => {
  const file = resolve(__dirname, '../../docs/webhook-events.md');
  const [BEGIN, END] = ['<!-- catalogue -->\n', '\n<!-- /catalogue -->'];

  test('has the catalogue as it is (UPDATE_DOCS=1 npx jest test/webhooks/catalogue writes it)', () => {
    const text = readFileSync(file, 'utf8');
    const [before, rest = ''] = text.split(BEGIN);
    const expected = `${before}${BEGIN}${catalogueMarkdown(eventCatalogue(stock))}${END}${rest.split(END)[1]}`;
    if (process.env.UPDATE_DOCS === '1') writeFileSync(file, expected);
    else expect(text).toBe(expected);
  });
});
