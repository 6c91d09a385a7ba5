/** The stock tenant: orders come in; one is validated, approved, exported and reported back; then its history is read. */
import { timedStep } from './apiClient.js';
import { isSignedWith } from './receiver.js';

const DYN = '/api/v1/dynamic-assets/dyn';
const PLATFORM = '/api/v1/platform';
const ITEMS = 200;
const PARTIES = 50;
const LINES_PER_ORDER = 3;
const ORDERS_AT_ONCE = 16;

/** @param story `api` with an API client's token (the integrator), `platform` signed in as a user, and the `receiver` */
export async function runOrders(story, orders) {
  const itemIds = await fillReferenceData(story.api);
  const orderIds = await createOrders(story.api, itemIds, orders);
  await exportOrder(story, orderIds[0]);
  await showHistory(story.api, orderIds[0]);
}

async function fillReferenceData(api) {
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
  console.log(`Reference data: ${units.length} unit codes, ${items.length} items, ${parties.length} customers`);
  const page = await api.request('GET', `${DYN}/dyn_item/assets?perPage=1000`);
  return page.data.map(({ id }) => id);
}

async function createOrders(api, itemIds, count) {
  const units = await api.request('GET', `${DYN}/dyn_unit_code/assets?sort=code`);
  const ids = [];
  const createOrder = async (number) => {
    const { data: order } = await api.request('POST', `${DYN}/dyn_stock_order/assets`, {
      customer_reference: `PO-${number}`,
      buyer_customer_party_id: `CUST-${(number % PARTIES) + 1}`,
      accounting_customer_party_id: `CUST-${(number % PARTIES) + 1}`,
      issue_date: '2026-11-20',
      delivery_date: '2026-11-27',
    });
    for (let line = 1; line <= LINES_PER_ORDER; line++) {
      await api.request('POST', `${DYN}/dyn_order_line/assets`, {
        order_id: order.id,
        line_number: line,
        item_id: itemIds[(number * LINES_PER_ORDER + line) % itemIds.length],
        unit_code_id: units.data[0].id,
        quantity: line * 2.5,
      });
    }
    ids.push(order.id);
  };
  await timedStep(`Orders with ${LINES_PER_ORDER} lines each`, count, 'orders', async () => {
    let next = 1;
    const worker = async () => {
      while (next <= count) await createOrder(next++);
    };
    await Promise.all(Array.from({ length: ORDERS_AT_ONCE }, worker));
    return `${count * (LINES_PER_ORDER + 1)} writes, ${ORDERS_AT_ONCE} at once`;
  });
  return ids;
}

async function exportOrder({ api, platform, receiver }, orderId) {
  const { data: hook } = await platform.request('POST', `${PLATFORM}/webhooks`, {
    url: receiver.url,
    events: ['order.approved'],
    custom_data: { warehouse: 'north' },
  });
  await platform.request('PUT', `${PLATFORM}/orders/${orderId}`, {
    notes: 'Deliver before noon.',
    processing_status: 'validated',
  });
  const approvedAt = performance.now();
  await platform.request('POST', `${PLATFORM}/orders/${orderId}/approve`);
  console.log(`Order ${orderId}: validated and approved by a user of the platform`);

  const webhook = await receiver.next();
  if (!isSignedWith(hook.secret, webhook)) throw new Error('The signature of the webhook is wrong.');
  const { validated_order: order } = JSON.parse(webhook.body.toString('utf8'));
  const ms = Math.round(webhook.receivedAt - approvedAt);
  console.log(
    `Webhook: received ${ms} ms after the approval was asked for, signature verified, ${order.lines.length} lines, ` +
      `status ${order.processing_status}`,
  );

  const path = `${DYN}/dyn_stock_order/assets/${orderId}`;
  await api.request('PUT', path, { processing_status: 'completed' });
  const { processing_status: status } = (await api.request('GET', path)).data;
  if (status !== 'completed') throw new Error(`The order is ${status} instead of completed.`);
  console.log('Outcome: reported back by the integrator, the order is completed');
}

async function showHistory(api, orderId) {
  const { data } = await api.request('GET', `${DYN}/dyn_stock_order/assets/${orderId}/history`);
  const rows = [
    ['WHEN', 'WHAT', 'FROM', 'TO', 'WHO'],
    ...data.map(({ occurred_at, event, status_from, status_to, actor }) => [
      occurred_at,
      event,
      status_from ?? '',
      status_to,
      `${actor.kind} ${actor.name ?? actor.id}`,
    ]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  console.log('\nIts history:');
  for (const row of rows) console.log(row.map((cell, column) => cell.padEnd(widths[column])).join('  '));
}
