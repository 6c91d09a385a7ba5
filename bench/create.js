/** Single creates over HTTP: each is answered when it is durable and a read shows it. */
import { milliseconds, note, quantile } from './figures.js';
import { kindsFrom } from './places.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
const WARM_UP = 100;
const CREATES = 500;
const CLIENTS = 16;
/** By all of them together; some thousand until the service is warm. */
const CREATES_AT_ONCE = 4_000;

const KINDS = kindsFrom(5_000_000);

/** @returns creates a second with 16 clients, by what is created */
export async function measureCreate({ client }) {
  const rates = {};
  for (const { table, text, body } of KINDS) {
    let n = 0;
    const times = [];
    const create = async () => {
      const start = performance.now();
      await client.ok('POST', `${ASSETS}/${table}/assets`, body(n++));
      times.push(performance.now() - start);
    };
    for (let i = 0; i < WARM_UP; i++) await create();
    times.length = 0;
    for (let i = 0; i < CREATES; i++) await create();
    note(`create one ${text}, one client`, milliseconds(times));

    times.length = 0;
    const start = performance.now();
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let i = 0; i < CREATES_AT_ONCE / CLIENTS; i++) await create();
      }),
    );
    const perSecond = (times.length * 1000) / (performance.now() - start);
    note(`create ${text}s, ${CLIENTS} clients`, `${perSecond.toFixed(0)}/s, p50 ${quantile(times, 0.5).toFixed(1)} ms`);
    rates[text] = perSecond;
  }
  return rates;
}
