import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tenantOf } from '#app/commands/tables.js';
import { exampleOf } from '#app/commands/webhooks/exampleOrder.js';
import { payloadVersion, WEBHOOK_EVENT_KINDS, type WebhookEventKind } from '#app/domain/webhook/catalogue.js';
import type { DeliverySubject } from '#app/domain/webhook/events.js';
import { makeBody } from '#app/webhooks/webhookRequest.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';
import { Story, webhook } from './story.js';

/** The event for a delivery of each kind in this test. */
const SOURCES: { readonly [kind in WebhookEventKind]: string } = {
  'order.created': 'OrderCreated',
  'order.updated': 'OrderPartAdded',
  'order.status_changed': 'OrderChanged',
  'order.approved': 'OrderApproved',
  'order.export_failed': 'OrderExportFailed',
  'reference.batch_upserted': 'BatchUpserted',
  'reference.cleaned_up': 'TableCleanedUp',
};

let inside: Inside;
const stories = new Map<string, { readonly story: Story; readonly orderId: string }>();

beforeAll(async () => {
  inside = await openInside();
  for (const model of MODELS) {
    await openTenant(inside, tenantName(model), model);
    const story = new Story(inside, tenantName(model));
    await story.synchroniseParties();
    const orderId = await (model === 'dyn_stock_order' ? story.stockOrder() : story.transportOrder());
    stories.set(model, { story, orderId });
  }
});

afterAll(() => inside.close());

const tenantName = (model: string): string => (model === 'dyn_stock_order' ? 'acme' : 'hauler');
const tenant = (model = 'dyn_stock_order') => tenantOf(inside.commands, tenantName(model));

function told(model = 'dyn_stock_order') {
  const found = stories.get(model);
  if (found === undefined) throw new Error(`Nothing happened to a ${model}.`);
  return found;
}

const subjectOf = (model: string, kind: WebhookEventKind): Promise<DeliverySubject> => {
  const { story, orderId } = told(model);
  return kind.startsWith('order.')
    ? story.ofOrder(kind, orderId, SOURCES[kind])
    : story.ofTable(kind, 'dyn_party', SOURCES[kind]);
};

const textOf = async (subject: DeliverySubject, model = 'dyn_stock_order'): Promise<string> =>
  (await makeBody(inside.commands, tenant(model), webhook, subject)).toString('utf8');

const bodyOf = async (subject: DeliverySubject, model?: string) => JSON.parse(await textOf(subject, model));

/** Numbers ids by their first occurrence and removes times; the order of keys stays. */
function stable(text: string): string {
  const ids = new Map<string, string>();
  return JSON.stringify(JSON.parse(text), null, 2)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      const known = ids.get(id) ?? `<id ${ids.size + 1}>`;
      ids.set(id, known);
      return known;
    })
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/g, '<timestamp>')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, '<date and time>');
}

const MODELS = ['dyn_stock_order', 'dyn_transport_order'];
const EVERY = MODELS.flatMap((model) => WEBHOOK_EVENT_KINDS.map((kind) => [kind, model] as const));

const page = readFileSync(join(__dirname, '../../docs/webhook-events.md'), 'utf8');

/** These orders name no accounting party. */
const LEFT_OUT = ['left_out', 'accounting_customer_party'];

describe('payloads (spec §2.3, §6.1)', () => {
  test.each(EVERY)('%s of a %s has the members of its example, and none besides', async (kind, model) => {
    expect(page).toContain(`### ${kind}\n\nVersion ${payloadVersion(kind)}. `);
    const members = (body: object) =>
      Object.entries(body).map(([name, of]) => [
        name,
        Object.keys(Object(of))
          .filter((each) => !LEFT_OUT.includes(each))
          .sort(),
      ]);
    const { custom_data: _, ...body } = await bodyOf(await subjectOf(model, kind), model);
    expect(members(body)).toEqual(members(exampleOf(kind, tenant(model))));
  });

  /**
   * Receivers rely on these bodies. If this fails because something was ADDED, mention it in CHANGELOG.md and
   * docs/webhook-events.md and write the file again (UPDATE_DOCS=1). If something was removed, or its name, type, order of
   * magnitude or meaning has changed, raise the kind's version in payloadVersion first.
   */
  test.each(MODELS)('the body of order.approved of a %s changes only on purpose', async (model) => {
    const text = await textOf(await subjectOf(model, 'order.approved'), model);
    const file = join(__dirname, 'payloads', `${model}.json`);
    const shown = { version: payloadVersion('order.approved'), ...JSON.parse(stable(text)) };
    if (process.env.UPDATE_DOCS === '1') writeFileSync(file, JSON.stringify(shown, null, 2));
    // As texts, so that the order of the members counts.
    else expect(JSON.stringify(shown)).toBe(JSON.stringify(JSON.parse(readFileSync(file, 'utf8'))));
  });
});

describe('the other order kinds', () => {
  test('show the order as it was after the event, not as it is', async () => {
    const { story, orderId } = told();
    const events = (await story.orderEvents(orderId)).filter(({ type }) => type !== 'OrderApproved');
    const shown = [];
    for (const { id, revision } of events) {
      const subject = { webhookId: webhook.id, kind: 'order.updated', orderId } as const;
      const { validated_order: order } = await bodyOf({ ...subject, sourceEventId: id, sourceRevision: revision });
      shown.push([order.processing_status, order.lines.length, order.notes, order.approver?.first_name]);
    }
    expect(shown).toEqual([
      ['pending_validation', 0, null, undefined],
      ['pending_validation', 1, null, undefined],
      ['pending_validation', 2, null, undefined],
      ['validated', 2, 'Ring twice.', undefined],
      ['failed', 2, 'Ring twice.', 'Eva'],
    ]);
  });

  test('order.status_changed of an approval is the order as it was approved', async () => {
    const { story, orderId } = told();
    const approval = await story.ofOrder('order.approved', orderId, 'OrderApproved');
    const { validated_order: approved } = await bodyOf(approval);
    const { validated_order: changed } = await bodyOf({ ...approval, kind: 'order.status_changed' });
    expect(changed).toEqual({ ...approved, updated_at: changed.updated_at });
    expect(changed.updated_at > approved.updated_at).toBe(true);
  });
});

describe('reference kinds', () => {
  test('reference.batch_upserted counts what the batch did to the table', async () => {
    const subject = await told('dyn_transport_order').story.ofTable(
      'reference.batch_upserted',
      'dyn_party',
      'BatchUpserted',
    );
    expect((await bodyOf(subject, 'dyn_transport_order')).data).toEqual({
      table: 'dyn_party',
      batch_id: 'sync-2',
      created: 2,
      updated: 1,
      unchanged: 1,
      revision: subject.sourceRevision,
    });
  });

  test('reference.cleaned_up counts what was deleted', async () => {
    const subject = await subjectOf('dyn_stock_order', 'reference.cleaned_up');
    const { data } = await bodyOf(subject);
    expect(data).toEqual({ table: 'dyn_party', batch_id: 'sync-2', deleted: 1, revision: subject.sourceRevision });
  });
});
