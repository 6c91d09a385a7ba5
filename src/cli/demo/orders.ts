/** The stock tenant: orders come in, one is validated, approved, exported and reported back; then its history is read. */
import PQueue from 'p-queue';
import { columns, printLines, timedStep } from '../output.js';
import { type ApiClient, at, listAt, textAt } from './apiClient.js';
import { isSignedWith, type WebhookReceiver } from './receiver.js';

const DYN = '/api/v1/dynamic-assets/dyn';
const PLATFORM = '/api/v1/platform';
const ITEMS = 200;
const PARTIES = 50;
const LINES_PER_ORDER = 3;
const ORDERS_AT_ONCE = 16;

export type OrderStory = {
  /** With an API client's token: the integrator. */
  readonly api: ApiClient;
  /** Signed in as a person: the platform. */
  readonly platform: ApiClient;
  readonly receiver: WebhookReceiver;
};

export async function runOrders(story: OrderStory, orders: number): Promise<void> {
  const itemIds = await fillReferenceData(story.api);
  const orderIds = await createOrders(story.api, itemIds, orders);
  const [orderId] = orderIds;
  if (orderId === undefined) return;
  await exportOrder(story, orderId);
  await showHistory(story.api, orderId);
}

async function fillReferenceData(api: ApiClient): Promise<readonly string[]> {
  const units = [
    { code: 'PCE', value: 'Piece' },
    { code: 'BX', value: 'Box' },
  ];
  const items = Array.from({ length: ITEMS }, (_, index) => ({
    external_id: `ITEM-${index + 1}`,
    name: `Article ${index + 1}`,
    sku: `SKU-${1000 + index}`,
  }));
  const parties = Array.from({ length: PARTIES }, (_, index) => ({
    external_id: `CUST-${index + 1}`,
    name: `Customer ${index + 1}`,
    country: 'NL',
  }));
  await api.request('POST', `${DYN}/dyn_unit_code/assets/batch`, { items: units });
  await api.request('POST', `${DYN}/dyn_item/assets/batch`, { items });
  await api.request('POST', `${DYN}/dyn_party/assets/batch`, { items: parties });
  printLines(`Reference data: ${units.length} unit codes, ${items.length} items, ${parties.length} customers`);
  const page = await api.request('GET', `${DYN}/dyn_item/assets?perPage=1000`);
  return listAt(page, 'data').map((item) => textAt(item, 'id'));
}

async function createOrders(api: ApiClient, itemIds: readonly string[], count: number): Promise<readonly string[]> {
  const unitId = textAt(await api.request('GET', `${DYN}/dyn_unit_code/assets?sort=code`), 'data', 0, 'id');
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const ids: string[] = [];
  const title = `Orders with ${LINES_PER_ORDER} lines each`;
  await timedStep(title, count, 'orders', async (onProgress) => {
    const createOrder = async (number: number): Promise<void> => {
      const order = await api.request('POST', `${DYN}/dyn_stock_order/assets`, {
        customer_reference: `PO-${number}`,
        buyer_customer_party_id: `CUST-${(number % PARTIES) + 1}`,
        accounting_customer_party_id: `CUST-${(number % PARTIES) + 1}`,
        issue_date: '2026-11-20',
        delivery_date: '2026-11-27',
      });
      const orderId = textAt(order, 'data', 'id');
      for (let line = 1; line <= LINES_PER_ORDER; line++) {
        await api.request('POST', `${DYN}/dyn_order_line/assets`, {
          order_id: orderId,
          line_number: line,
          item_id: itemIds[(number * LINES_PER_ORDER + line) % itemIds.length],
          unit_code_id: unitId,
          quantity: line * 2.5,
        });
      }
      ids.push(orderId);
      onProgress(ids.length);
    };
    await new PQueue({ concurrency: ORDERS_AT_ONCE }).addAll(numbers.map((number) => () => createOrder(number)));
    return `${count * (LINES_PER_ORDER + 1)} writes, ${ORDERS_AT_ONCE} at once`;
  });
  return ids;
}

async function exportOrder({ api, platform, receiver }: OrderStory, orderId: string): Promise<void> {
  const made = await platform.request('POST', `${PLATFORM}/webhooks`, {
    url: receiver.url,
    events: ['order.approved'],
    custom_data: { warehouse: 'north' },
  });
  const secret = textAt(made, 'data', 'secret');
  await platform.request('PUT', `${PLATFORM}/orders/${orderId}`, {
    notes: 'Deliver before noon.',
    processing_status: 'validated',
  });
  const approvedAt = performance.now();
  await platform.request('POST', `${PLATFORM}/orders/${orderId}/approve`);
  printLines(`Order ${orderId}: validated and approved by a person of the platform`);

  const webhook = await receiver.next();
  if (!isSignedWith(secret, webhook)) throw new Error('The signature of the webhook is wrong.');
  const payload: unknown = JSON.parse(webhook.body.toString('utf8'));
  const lines = listAt(payload, 'validated_order', 'lines').length;
  const ms = Math.round(webhook.receivedAt - approvedAt);
  printLines(
    `Webhook: received ${ms} ms after the approval was asked for, signature verified, ${lines} lines, ` +
      `status ${textAt(payload, 'validated_order', 'processing_status')}`,
  );

  const path = `${DYN}/dyn_stock_order/assets/${orderId}`;
  await api.request('PUT', path, { processing_status: 'completed' });
  const status = textAt(await api.request('GET', path), 'data', 'processing_status');
  if (status !== 'completed') throw new Error(`The order is ${status} instead of completed.`);
  printLines('Outcome: reported back by the integrator, the order is completed');
}

async function showHistory(api: ApiClient, orderId: string): Promise<void> {
  const answer = await api.request('GET', `${DYN}/dyn_stock_order/assets/${orderId}/history`);
  const rows = listAt(answer, 'data').map((entry) => [
    textAt(entry, 'occurred_at'),
    textAt(entry, 'event'),
    String(at(entry, 'status_from') ?? ''),
    textAt(entry, 'status_to'),
    `${at(entry, 'actor', 'kind')} ${at(entry, 'actor', 'name') ?? at(entry, 'actor', 'id')}`,
  ]);
  printLines('', 'Its history:', ...columns([['WHEN', 'WHAT', 'FROM', 'TO', 'WHO'], ...rows]));
}
