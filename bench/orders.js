/** Orders with their parts: in one request, and as one request for the order and one for each part. */
import { share } from './figures.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
const PARTS = 3;
const WARM_UP = 400;
const ORDERS = 960;

/** Wanted of one call beside four: what a client spares by it. */
const TIMES = 3;

export async function measureOrders({ client }) {
  const consignment = (n) => ({ consignment_reference: `Consignment ${n}` });
  const create = async (table, body) => JSON.parse(await client.ok('POST', `${ASSETS}/${table}/assets`, body)).data.id;
  const ways = {
    together: (n) =>
      create('dyn_transport_order', {
        notes: `Order ${n}`,
        consignments: Array.from({ length: PARTS }, (_, i) => consignment(i)),
      }),
    async apart(n) {
      const transport_order_id = await create('dyn_transport_order', { notes: `Order ${n}` });
      for (let i = 0; i < PARTS; i++) await create('dyn_consignment', { transport_order_id, ...consignment(i) });
    },
  };
  for (const clients of [1, 16]) {
    const rate = async (make) => {
      for (let n = 0; n < WARM_UP; n++) await make(n);
      const start = performance.now();
      await Promise.all(
        Array.from({ length: clients }, async () => {
          for (let n = 0; n < ORDERS / clients; n++) await make(n);
        }),
      );
      return (ORDERS * 1000) / (performance.now() - start);
    };
    const apart = await rate(ways.apart);
    const together = await rate(ways.together);
    share(
      `orders with ${PARTS} parts in one call beside ${PARTS + 1}, ${clients} clients`,
      together,
      apart,
      TIMES,
      'orders/s',
    );
  }
}
