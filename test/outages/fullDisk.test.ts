/** The disk of the embedded engines is full, and has room again later. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer } from '../acceptance/http.js';
import { Service } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { SmallDisk, smallDiskMissing } from '../engines/smallDisk.js';

const MEGABYTE = 1_048_576;

describeEngine('disk', 'the service with a full disk', smallDiskMissing(), () => {
  let disk: SmallDisk;
  let service: Service;
  const acme = () => service.tenant('acme');

  beforeAll(async () => {
    disk = new SmallDisk(32);
    // The whole disk is smaller than the reserve.
    service = new Service(disk.directory, { DISK_RESERVE: '0' });
    await service.createTenant('acme', 'dyn_stock_order');
    await service.start();
  });
  afterAll(async () => {
    await service?.stop();
    disk?.dispose();
  });

  const batch = (name: string): Promise<Answer> => {
    const items = Array.from({ length: 200 }, (_, n) => ({ external_id: `${name}-${n}`, name: 'x'.repeat(200) }));
    return acme().postBatch('dyn_item', { items });
  };
  const readiness = (): Promise<Answer> => service.send({ method: 'GET', path: '/health/ready' });

  it('writes are refused, reads go on, nothing is lost, and all is well again when there is room', async () => {
    const { id } = await acme().create('dyn_stock_order', { notes: 'known' });
    disk.fill(2 * MEGABYTE);
    const batches: { readonly name: string; readonly answer: Answer }[] = [];
    while (batches.at(-1)?.answer.status !== 503) {
      const name = `batch-${batches.length}`;
      batches.push({ name, answer: await batch(name) });
    }
    const { name: refused = '', answer } = batches.pop() ?? {};
    expect(answer?.body).toMatchObject({ error: 'The event log cannot be reached. Nothing was written.' });
    while (!(await readiness()).text.includes('disk is full')) await wait(50);
    expect(await readiness()).toMatchObject({ status: 503, body: { checks: { event_store: { ok: false } } } });
    for (let n = 0; n < 100; n++) {
      expect((await acme().getRecord('dyn_stock_order', id)).status).toBe(200);
      expect((await acme().getList('dyn_item')).status).toBe(200);
    }

    disk.empty();
    while ((await readiness()).status !== 200) await wait(50);
    await acme().create('dyn_stock_order', { notes: 'after' });
    for (const { name } of batches) {
      expect((await acme().list('dyn_item', { 'filter[external_id]': `${name}-199` })).meta.total).toBe(1);
    }
    expect((await acme().list('dyn_item', { 'filter[external_id]': `${refused}-` })).meta.total).toBe(0);
    expect((await batch(refused)).status).toBe(200);
  });
});
