/**
 * The service is killed (SIGKILL) again and again under eight writers. After each restart every acknowledged write is there, no
 * part of an unacknowledged batch is, and the read models stand the proof by the log; the moments after the kills are shown as
 * they were by `at=`, and compared, which property/rows.test.ts does with a model at hundreds of them. `npm run test:long`, or `KILLS=500 npx jest faults/kill`, does more; `SEED=…` makes another run.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { type Service, startService } from '../acceptance/service.js';
import { ASSETS, type AssetRecord, type TenantClient } from '../acceptance/tenant.js';
import { scaled } from '../engines/timeScale.js';
import { seeded } from './seeded.js';
import { Workload } from './workload.js';

const KILLS = Number(process.env.KILLS ?? 3);
const SEED = Number(process.env.SEED ?? 1);
/** Kills while creates with a key are sent. */
const KEYED_KILLS = Math.min(KILLS, 5);
const LONGEST_RUN_MS = 700;
const FULL_CHECK_EVERY = 10;

let service: Service;
let acme: TenantClient;

beforeAll(async () => {
  service = await startService({ tenants: { acme: 'dyn_stock_order' } });
  acme = service.tenant('acme');
  await acme.token();
});
afterAll(() => service.dispose());

async function all(table: string, query: Record<string, string> = {}): Promise<AssetRecord[]> {
  const records: AssetRecord[] = [];
  for (let page = 1; ; page++) {
    const list = await acme.list(table, { perPage: '1000', page: String(page), ...query });
    records.push(...list.data);
    if (page >= list.meta.last_page) return records;
  }
}

/** What this round's writers were told must be so; `from` are the ledgers' lengths before the round. */
async function checkRound(
  work: Workload,
  from: { batches: number; created: number; orders: number; syncs: number },
): Promise<void> {
  for (const batch of work.batches.slice(from.batches)) {
    const { meta } = await acme.list('dyn_party', { 'filter[external_id]': batch.prefix });
    const mayBe =
      batch.undo === 'done' ? [0] : batch.acknowledged && batch.undo === undefined ? [batch.size] : [0, batch.size];
    expect([batch.prefix, mayBe]).toEqual([batch.prefix, expect.arrayContaining([meta.total])]);
  }
  for (const created of work.created.slice(from.created)) {
    if (created.id !== undefined)
      expect(await acme.get('dyn_item', created.id)).toMatchObject({ external_id: created.key });
  }
  for (const order of work.orders.slice(from.orders)) {
    const { processing_status: status } = await acme.get('dyn_stock_order', order.id);
    expect([order.status, order.underWay]).toContain(status);
  }
  await checkSyncs(work.syncs.slice(from.syncs));
}

/** What the round before left: from it, few states are possible after one round. */
let codes: readonly string[] = [];

/** An acknowledged clean-up leaves exactly its synchronisation; a call that was cut off has happened or it has not. */
async function checkSyncs(syncs: Workload['syncs']): Promise<void> {
  let possible: readonly (readonly string[])[] = [codes];
  for (const { keys, done } of syncs) {
    const upserted = possible.map((before) => [...new Set([...before, ...keys])].sort());
    if (done === 'cleaned') possible = [[...keys].sort()];
    else if (done === 'upserted') possible = [...upserted, [...keys].sort()];
    else possible = [...possible, ...upserted];
  }
  codes = (await all('dyn_unit_code')).map((record) => String(record.code)).sort();
  expect(possible).toContainEqual(codes);
}

/** A table after a restart, when nobody writes. */
type Moment = { readonly at: number; readonly units: readonly AssetRecord[] };
const units = (query = {}): Promise<AssetRecord[]> => all('dyn_unit_code', { sort: 'code', ...query });
const differences = z.object({ data: z.array(z.object({ id: z.string(), change: z.string() })) });

async function checkPast(moments: readonly Moment[]): Promise<void> {
  let [before] = moments;
  for (const moment of moments) {
    expect(await units({ at: String(moment.at) })).toEqual(moment.units);
    const path = `${ASSETS}/dyn_unit_code/compare?from=${before?.at}&to=${moment.at}`;
    const { data } = differences.parse((await acme.send('GET', path)).body);
    const [was, is] = [before, moment].map((each) => new Set(each?.units.map(({ id }) => id)));
    const created = [...(is ?? [])].filter((id) => !was?.has(id)).map((id) => ({ id, change: 'created' }));
    const deleted = [...(was ?? [])].filter((id) => !is?.has(id)).map((id) => ({ id, change: 'deleted' }));
    const byId = (each: { readonly id: string }, other: { readonly id: string }) => (each.id < other.id ? -1 : 1);
    expect(data.sort(byId)).toEqual([...created, ...deleted].sort(byId));
    before = moment;
  }
}

/** What is shown is what the log says. */
async function checkAgainstLog(): Promise<void> {
  const verified = await service.cli('projections', 'verify', '--tenant', 'acme');
  expect(verified).toMatchObject({ code: 0, stderr: '' });
}

it(
  `no acknowledged write is lost and no half batch is seen over ${KILLS} kills (seed ${SEED})`,
  async () => {
    const random = seeded(SEED);
    const work = new Workload(acme, random);
    const moments: Moment[] = [];
    const acknowledged = () => work.batches.filter((batch) => batch.acknowledged).length;
    // On a busy machine some rounds end before a batch does.
    for (let kill = 1; kill <= KILLS || acknowledged() <= KILLS; kill++) {
      const from = {
        batches: work.batches.length,
        created: work.created.length,
        orders: work.orders.length,
        syncs: work.syncs.length,
      };
      const writing = work.run();
      await wait(random() * LONGEST_RUN_MS);
      await service.kill();
      await writing;
      await service.start();
      await checkRound(work, from);
      moments.push({ at: await service.logHead(), units: await units() });
      if (kill % FULL_CHECK_EVERY === 0) await checkAgainstLog();
    }
    await checkAgainstLog();
    await checkPast(moments);
    // Keys that went and came back have kept their ids.
    expect([...work.idsByCode.values()].filter(({ size }) => size !== 1)).toEqual([]);
    expect(service.loggedErrors).toEqual([]);
  },
  scaled(60_000 + KILLS * 20_000),
);

it('creates with an Idempotency-Key that are sent again until they are answered make one order each', async () => {
  const random = seeded(SEED);
  const before = new Set((await all('dyn_stock_order')).map(({ id }) => id));
  const answers = new Map<string, Set<string>>();
  const sendAll = (n: number) =>
    Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const key = `${n}-${index}`;
        const headers = { 'idempotency-key': key };
        const answer = await acme
          .postRecord('dyn_stock_order', { customer_reference: key }, { headers })
          .catch(() => null);
        if (answer?.status === 201) answers.set(key, (answers.get(key) ?? new Set()).add(answer.text));
      }),
    );
  for (let n = 0; n < KEYED_KILLS; n++) {
    const sending = sendAll(n);
    await wait(random() * 30);
    await service.kill();
    await sending;
    await service.start();
    await sendAll(n);
    await sendAll(n);
  }
  expect([...answers.values()].map(({ size }) => size)).toEqual(Array(20 * KEYED_KILLS).fill(1));
  const made = (await all('dyn_stock_order')).filter(({ id }) => !before.has(id));
  expect(made.map((order) => order.customer_reference).sort()).toEqual([...answers.keys()].sort());
});
