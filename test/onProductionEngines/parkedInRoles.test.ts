/**
 * An event of one tenant that cannot be applied, where api, projectors and webhooks are processes of their own on the
 * production engines: all other tenants are served, whichever projector is at work, and what is parked goes on after a fix.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { catalogOf, recordsOf } from '#app/adapters/readmodels/mongodb/catalog.js';
import { LaneDb } from '#app/adapters/readmodels/mongodb/connection.js';
import { refusedRecord } from '#app/adapters/readmodels/mongodb/recordDocument.js';
import { tableStream } from '#app/domain/streams.js';
import { laneIndex } from '#app/projector/lanes.js';
import { collectionPrefix } from '#app/service/engines.js';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { appendByHand } from '../acceptance/logEvent.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import type { AssetRecord } from '../acceptance/tenant.js';
import { ENGINE_START_MS } from '../engines/mongodb.js';
import {
  describeProductionEngines,
  type ProductionEngines,
  startProductionEngines,
} from '../engines/productionEngines.js';

const LANES = 2;

describeProductionEngines(() => {
  let engines: ProductionEngines;
  let receiver: Receiver;
  let dataDir: string;
  let api: Service;
  let projectors: readonly [Service, Service];
  let webhooks: Service;
  const acme = () => api.tenant('acme');
  const other = () => api.tenant('other');
  const all = () => [api, ...projectors, webhooks];

  beforeAll(async () => {
    [engines, receiver] = await Promise.all([startProductionEngines(), Receiver.start()]);
    dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
    const env = { ...quickDelivery(receiver), ...engines.env, PROJECTION_LANES: String(LANES) };
    const process = (role: string) => new Service(dataDir, env, ['--role', role]);
    api = process('api');
    projectors = [process('projector'), process('projector')];
    webhooks = process('webhooks');
    for (const name of ['acme', 'other']) await api.createTenant(name, 'dyn_stock_order');
    await Promise.all(all().map((each) => each.start()));
    for (const name of ['acme', 'other']) await addWebhook(api.tenant(name), receiver.url(`/${name}`));
  }, ENGINE_START_MS);

  afterAll(async () => {
    for (const each of all()) await each.stop();
    await receiver.stop();
    await engines.dispose();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** Takes the record out of the read models, so that changes of it do not fit. @returns what puts it back */
  async function takeOut({ id }: AssetRecord): Promise<() => Promise<void>> {
    const client = await MongoClient.connect(engines.env.MONGODB_URL);
    const db = new LaneDb(
      { client, db: client.db(), hasMoments: false },
      collectionPrefix({ index: laneIndex('acme', LANES), of: LANES }),
    );
    const table = async () => {
      const entry = await catalogOf(db).findOne({ tenant: 'acme', table: 'dyn_item', rebuild: null });
      if (entry === null) throw new Error('The table is not in the catalog.');
      return recordsOf(db, entry);
    };
    const records = await table();
    const taken = await records.findOne({ _id: id });
    if (taken === null) throw new Error('The record is not in its table.');
    await records.deleteMany({ _id: id });
    return async () => {
      await (await table()).insertMany([taken], refusedRecord);
      await client.close();
    };
  }

  const parked = async (): Promise<unknown> =>
    JSON.parse((await api.cli('projections', 'list', '--json')).stdout)[0].parked;

  let exported = 0;
  /** Creates, lists and webhooks of the other tenant. */
  async function isServed(round: string): Promise<void> {
    const before = (await other().list('dyn_item')).meta.total;
    for (let n = 0; n < 5; n++) {
      const made = await other().postRecord('dyn_item', { external_id: `${round} ${n}`, name: 'Tea' });
      expect(made).toMatchObject({
        status: 201,
        headers: expect.not.objectContaining({ 'projection-pending': 'true' }),
      });
      expect((await other().list('dyn_item')).meta.total).toBe(before + n + 1);
    }
    const { order } = await validatedOrder(other());
    await approve(other(), order.id);
    await receiver.received('/other', ++exported);
  }

  it('one tenant is parked, over the death of projectors, all others are served, and nothing is lost after the fix', async () => {
    const tea = await acme().create('dyn_item', { external_id: 'tea', name: 'Tea' });
    const order = await acme().create('dyn_stock_order', { notes: 'before' });
    await isServed('before');

    const putBack = await takeOut(tea);
    const change = { id: tea.id, set: { name: 'Green tea' } };
    const { position } = await appendByHand(
      { DATA_DIR: dataDir, ...engines.env },
      tableStream('acme', 'dyn_item'),
      'RecordChanged',
      change,
    );
    while ((await acme().getList('dyn_item')).status !== 503) await wait(50);
    const isParked = [{ tenant: 'acme', position, eventType: 'RecordChanged', since: expect.any(String) }];
    const first = await parked();
    expect(first).toMatchObject(isParked);

    const notes: string[] = [];
    const whileParked = async (round: string): Promise<void> => {
      for (const table of ['dyn_item', 'dyn_stock_order', 'dyn_party']) {
        expect(await acme().getList(table)).toMatchObject({
          status: 503,
          headers: { 'retry-after': expect.any(String) },
        });
      }
      expect((await acme().postRecord('dyn_item', { external_id: round, name: 'Tea' })).status).toBe(503);
      const made = await acme().postRecord('dyn_stock_order', { notes: round });
      expect(made).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });
      notes.push(round);
      expect((await acme().putRecord('dyn_stock_order', order.id, { customer_reference: round })).status).toBe(200);
    };
    await whileParked('parked');
    await isServed('parked');

    for (const projector of projectors) {
      await projector.kill();
      await whileParked(`no projector ${notes.length}`);
      // Until the other one has taken over.
      const { id } = await other().create('dyn_stock_order', { notes: 'taken over' });
      while ((await other().getRecord('dyn_stock_order', id)).status !== 200) await wait(50);
      expect(await parked()).toEqual(first);
      await whileParked(`taken over ${notes.length}`);
      await isServed(`taken over ${notes.length}`);
      await projector.start();
    }
    for (const each of all()) {
      const { status, text } = await each.send({ method: 'GET', path: '/health/ready' });
      expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('1 tenant is parked: acme') });
    }

    await putBack();
    const retried = await api.cli('projections', 'retry', '--tenant', 'acme');
    expect(retried).toMatchObject({ code: 0, stdout: expect.stringMatching(/^records of acme: caught up/) });
    while ((await acme().getList('dyn_item')).status !== 200) await wait(50);
    expect((await acme().list('dyn_item')).data.map(({ name }) => name)).toEqual(['Green tea']);
    const orders = (await acme().list('dyn_stock_order')).data;
    expect(orders.map((each) => each.notes)).toEqual(['before', ...notes]);
    expect(orders[0]?.customer_reference).toBe(notes.at(-1));
    const next = await acme().postRecord('dyn_item', { external_id: 'next', name: 'Coffee' });
    expect(next).toMatchObject({ status: 201, headers: expect.not.objectContaining({ 'projection-pending': 'true' }) });
    await isServed('after');
    const { order: approved } = await validatedOrder(acme());
    await approve(acme(), approved.id);
    await receiver.received('/acme', 1);
    const proof = await api.cli('projections', 'verify');
    expect({ code: proof.code, stdout: proof.stdout }).toEqual({ code: 0, stdout: expect.any(String) });
    expect(api.loggedErrors).toEqual([]);
    expect(webhooks.loggedErrors).toEqual([]);
  });
});
