/**
 * An event of one tenant that cannot be applied, written into its log as no command would write it: that tenant's reads are
 * refused, and every other tenant notices nothing. Killed again and again, nothing else comes of it.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { newId } from '#app/commands/clock.js';
import { tableStream } from '#app/domain/streams.js';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../acceptance/export.js';
import type { Answer } from '../acceptance/http.js';
import { appendByHand } from '../acceptance/logEvent.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';
import { onEachReadModels } from '../engines/onEachReadModels.js';
import { isRepetition } from '../onProductionEngines/repetition.js';

const EMBEDDED = { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' };
/** What waits for a read model waits so long: far longer than a busy machine takes for an answer that waits for nothing. */
const LONG_WAITS = { REQUEST_TIMEOUT_MS: '120000', WRITE_WAIT_MS: '60000' };
const FAST_MS = 5_000;

onEachReadModels(describePoisoned);

if (!isRepetition) {
  test('with the embedded engines, what is parked goes on where it stood, after what was wrong is put right', async () => {
    const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env: EMBEDDED });
    const acme = service.tenant('acme');
    await acme.create('dyn_item', { external_id: 'before', name: 'Tea' });
    await service.stop();
    const change = (statement: (table: number) => string): void => {
      const db = openSqlite(`${service.dataDir}/readmodels.db`);
      const find = "SELECT id FROM catalog WHERE tenant = 'acme' AND name = 'dyn_item' AND copy = 0";
      db.exec(statement(Number(db.prepare(find).pluck().get())));
      db.close();
    };
    change(
      (table) => `CREATE TRIGGER lost BEFORE INSERT ON small_docs WHEN NEW.owner = ${table}
        BEGIN SELECT RAISE(ABORT, 'The document is lost.'); END`,
    );
    const id = newId();
    await append(service, 'RecordCreated', { id, fields: { external_id: 'fits', name: 'Coffee' } });
    await service.start();
    await isParked(service);
    const order = await acme.postRecord('dyn_stock_order', { notes: 'while parked' });
    expect(order).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });

    const again = await service.cli('projections', 'retry', '--tenant', 'acme', '--json');
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject([{ projection: 'records', outcome: 'parked' }]);

    change(() => 'DROP TRIGGER lost');
    await service.restart('kill');
    const fixed = await service.cli('projections', 'retry', '--tenant', 'acme');
    expect(fixed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^records of acme: caught up/) });
    await becomesReadable(acme.name, service);
    expect((await acme.list('dyn_item')).data.map(({ external_id }) => external_id)).toEqual(['before', 'fits']);
    expect((await acme.list('dyn_stock_order')).data.map(({ notes }) => notes)).toEqual(['while parked']);
    const next = await acme.postRecord('dyn_item', { external_id: 'after', name: 'Water' });
    expect(next).toMatchObject({ status: 201, headers: expect.not.objectContaining({ 'projection-pending': 'true' }) });
    expect((await acme.list('dyn_item')).meta.total).toBe(3);
    const none = await service.cli('projections', 'retry', '--tenant', 'acme');
    expect(none).toMatchObject({ code: 0, stdout: 'Nothing of acme is parked there.\n' });
    await service.dispose();
  });
}

function describePoisoned(engines: () => { readonly [name: string]: string }): void {
  let receiver: Receiver;
  let service: Service;
  const acme = () => service.tenant('acme');
  const other = () => service.tenant('other');

  beforeAll(async () => {
    receiver = await Receiver.start();
    service = await startService({
      tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
      env: { ...EMBEDDED, ...LONG_WAITS, ...engines(), ...quickDelivery(receiver) },
    });
    await addWebhook(other(), receiver.url('/other'));
    await acme().create('dyn_item', { external_id: 'before', name: 'Tea' });
  });
  afterAll(async () => {
    await service.dispose();
    await receiver.stop();
  });

  test('one tenant is parked, all others are served, also after each of some crashes', async () => {
    const order = await acme().create('dyn_stock_order', { notes: 'before' });
    await service.stop();
    const { position } = await append(service, 'RecordChanged', { id: newId(), set: { name: 'Nobody' } });
    await service.start();
    for (let round = 0; round < 2; round++) {
      await wait(round * 300);
      await service.restart('kill');
      await isParked(service);
    }

    const status = await service.cli('projections', 'list', '--json');
    expect(JSON.parse(status.stdout)).toMatchObject([
      { name: 'records', parked: [{ tenant: 'acme', position, eventType: 'RecordChanged' }] },
      { name: 'order_history', parked: [] },
      { name: 'deliveries', parked: [] },
      { name: 'activity', parked: [] },
    ]);
    const { text } = await service.send({ method: 'GET', path: '/metrics' });
    expect(text).toMatch(/^projections_parked\{projection="records"\} 1$/m);
    const ready = await service.send({ method: 'GET', path: '/health/ready' });
    expect(ready).toMatchObject({
      status: 200,
      body: { checks: { projections: { ok: true, detail: expect.stringContaining('1 tenant is parked: acme') } } },
    });

    isWithheld(await acme().getList('dyn_item'), position);
    isWithheld(await acme().getList('dyn_stock_order'), position);
    isWithheld(await acme().getRecord('dyn_stock_order', order.id), position);
    isWithheld(await acme().platform('GET', '/orders'), position);
    const head = await service.logHead();
    for (const write of [
      () => acme().postRecord('dyn_item', { external_id: 'new', name: 'New' }),
      () => acme().postBatch('dyn_party', { items: [{ external_id: 'new', name: 'New', _batch_id: 'b' }] }),
      () => acme().postCleanUp('dyn_party', { batch_id: 'b' }),
    ]) {
      const startedAt = performance.now();
      const answer = await write();
      expect(performance.now() - startedAt).toBeLessThan(FAST_MS);
      expect(answer).toMatchObject({ status: 503, body: { error: expect.stringMatching(/ Nothing was written\.$/) } });
    }
    expect(await service.logHead()).toBe(head);

    const startedAt = performance.now();
    const created = await acme().postRecord('dyn_stock_order', { notes: 'while parked' });
    expect(created).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });
    const changed = await acme().putRecord('dyn_stock_order', order.id, { processing_status: 'validated' });
    expect(changed).toMatchObject({ status: 200, headers: { 'projection-pending': 'true' } });
    expect(performance.now() - startedAt).toBeLessThan(3 * FAST_MS);

    const before = (await other().list('dyn_item')).meta.total;
    for (let n = 0; n < 20; n++) {
      const made = await other().postRecord('dyn_item', { external_id: `beside ${n}`, name: 'Tea' });
      expect(made.status).toBe(201);
      expect(made.headers['projection-pending']).toBeUndefined();
      expect((await other().list('dyn_item')).meta.total).toBe(before + n + 1);
    }
    const approved = await validatedOrder(other());
    await approve(other(), approved.order.id);
    await receiver.received('/other', 1);
  });
}

const append = ({ dataDir }: Service, type: string, data: unknown) =>
  appendByHand({ DATA_DIR: dataDir }, tableStream('acme', 'dyn_item'), type, data);

async function isParked(service: Service): Promise<void> {
  for (;;) {
    const { status, body } = await service.send({ method: 'GET', path: '/health/ready' });
    if (status === 200 && JSON.stringify(body).includes('parked: acme')) break;
    await wait(50);
  }
  while ((await service.tenant('acme').getList('dyn_item')).status !== 503) await wait(50);
}

async function becomesReadable(tenant: string, service: Service): Promise<void> {
  while ((await service.tenant(tenant).getList('dyn_item')).status !== 200) await wait(50);
}

function isWithheld({ status, headers, body }: Answer, position: number): void {
  expect({ status, retryAfter: headers['retry-after'], body }).toEqual({
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/),
    body: { message: expect.any(String), error: expect.stringContaining(`RecordChanged at position ${position}`) },
  });
}
