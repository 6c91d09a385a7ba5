/** Orders, their approval, and how long it takes until a receiver has what follows. */

const ORDERS = '/api/v1/dynamic-assets/dyn/dyn_transport_order/assets';

/**
 * Approves orders one after another.
 * @returns milliseconds from each call to the arrival of its webhook
 */
export async function approvalTimes({ client, credentials }, receiver, count) {
  const { email, password } = credentials.admin;
  const session = JSON.parse(await client.ok('POST', '/api/v1/platform/session', { email, password }));
  const api = client.headers.authorization;
  const person = `Bearer ${session.data.token}`;
  const as = (authorization) => Object.assign(client.headers, { authorization });
  as(person);
  await client.ok('POST', '/api/v1/platform/webhooks', { url: receiver.url });
  const times = [];
  for (let n = 0; n < count; n++) {
    as(api);
    const id = await createOrder(client, n);
    as(person);
    const start = performance.now();
    const arrival = receiver.next();
    await client.ok('POST', `/api/v1/platform/orders/${id}/approve`, { override: true, reason: 'It has no lines.' });
    times.push((await arrival).receivedAt - start);
  }
  as(api);
  return times;
}

/** @returns its id */
export async function createOrder(client, n) {
  const order = { customer_reference: `PO ${n}`, processing_status: 'validated' };
  return JSON.parse(await client.ok('POST', ORDERS, order)).data.id;
}
