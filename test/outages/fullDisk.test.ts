/** The disk of the embedded engines is full, and has room again later. */
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

  it('writes are refused, reads go on, nothing is lost, and all is well again when there is room', async () => {
    const { id } = await acme().create('dyn_stock_order', { notes: 'known' });
    disk.fill(2 * MEGABYTE);
    const batches: { readonly name: string; readonly answer: Answer }[] = [];
    const write = async (): Promise<Answer> => {
      const name = `batch-${batches.length}`;
      const answer = await batch(name);
      batches.push({ name, answer });
      return answer;
    };
    let answer = await write();
    while (answer.status !== 503) answer = await write();
    expect(answer.body).toMatchObject({ error: expect.stringMatching(/ Nothing was written\.$/) });
    // The log, or the rows: what they can free lets a small write pass, so that the disk is not full for a moment.
    let ready = await service.readiness();
    for (; !ready.text.includes('disk is full'); ready = await service.readiness()) await write();
    expect(ready.status).toBe(503);
    for (let n = 0; n < 100; n++) {
      expect((await acme().getRecord('dyn_stock_order', id)).status).toBe(200);
      expect((await acme().getList('dyn_item')).status).toBe(200);
    }

    disk.empty();
    await service.becomesReady();
    await acme().create('dyn_stock_order', { notes: 'after' });
    for (const { name, answer: given } of batches) {
      const stored = (await acme().list('dyn_item', { 'filter[external_id]': `${name}-` })).meta.total;
      expect([name, stored]).toEqual([name, given.status === 200 ? 200 : 0]);
    }
    const refused = batches.find(({ answer: given }) => given.status === 503);
    expect((await batch(refused?.name ?? '')).status).toBe(200);
  });
});
