/**
 * An event that cannot be made into rows: that tenant's reads are refused, and every other tenant notices nothing.
 * It goes on where it stood, after what was wrong is put right.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { newId } from '#app/commands/clock.js';
import { tableStream } from '#app/domain/streams.js';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { appendByHand } from '../acceptance/logEvent.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';

/** What waits for rows waits so long: far longer than a busy machine takes for an answer that waits for nothing. */
const LONG_WAITS = { REQUEST_TIMEOUT_MS: '120000', WRITE_WAIT_MS: '60000' };
const FAST_MS = 5_000;

let receiver: Receiver;
let service: Service;
const acme = () => service.tenant('acme');
const other = () => service.tenant('other');
const change = (statement: string): void => {
  const db = openSqlite(`${service.dataDir}/rows/acme.db`);
  db.exec(statement);
  db.close();
};

let position: number;
beforeAll(async () => {
  receiver = await Receiver.start();
  const tenants = { acme: 'dyn_stock_order', other: 'dyn_stock_order' } as const;
  service = await startService({ tenants, env: { ...LONG_WAITS, ...quickDelivery(receiver) } });
  await addWebhook(other(), receiver.url('/other'));
  await acme().create('dyn_item', { external_id: 'before', name: 'Tea' });
  await service.stop();
  change(`CREATE TRIGGER lost BEFORE INSERT ON rows WHEN NEW.key = 'fits'
    BEGIN SELECT RAISE(ABORT, 'The document is lost.'); END`);
  const lost = { id: newId(), fields: { external_id: 'fits', name: 'Coffee' } };
  ({ position } = await appendByHand(
    { DATA_DIR: service.dataDir },
    tableStream('acme', 'dyn_item'),
    'RecordCreated',
    lost,
  ));
  await service.start();
});
afterAll(async () => {
  await service.dispose();
  await receiver.stop();
});

async function isParked(): Promise<void> {
  const ready = () => service.send({ method: 'GET', path: '/health/ready' });
  for (let answer = await ready(); ; answer = await ready()) {
    if (answer.status === 200 && answer.text.includes('1 tenant is parked')) break;
    await wait(50);
  }
  while ((await acme().getList('dyn_item')).status !== 503) await wait(50);
}

test('one tenant is parked, and is told so; all others are served, also after a crash', async () => {
  await isParked();
  await service.restart('kill');
  await isParked();
  const status = await service.cli('projections', 'list', '--json');
  expect(JSON.parse(status.stdout).tenants).toMatchObject([
    { tenant: 'acme', state: 'parked', parked: { position, eventType: 'RecordCreated' } },
    { tenant: 'other', state: 'running' },
  ]);
  const { text } = await service.send({ method: 'GET', path: '/metrics' });
  expect(text).toMatch(/^projections_parked 1$/m);

  for (const ask of ['dyn_item', 'dyn_stock_order'])
    expect(await acme().getList(ask)).toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
      body: { error: expect.stringContaining(`RecordCreated at position ${position}`) },
    });
  const head = await service.logHead();
  const startedAt = performance.now();
  for (const refused of [
    await acme().postRecord('dyn_item', { external_id: 'new', name: 'New' }),
    await acme().postBatch('dyn_party', { items: [{ external_id: 'new', name: 'New', _batch_id: 'b' }] }),
    await acme().postCleanUp('dyn_party', { batch_id: 'b' }),
  ])
    expect(refused).toMatchObject({
      status: 503,
      body: { error: expect.stringMatching(/ RecordCreated at position .* Nothing was written\.$/) },
    });
  expect(await service.logHead()).toBe(head);
  const headers = { 'Idempotency-Key': 'while-parked' };
  const create = () => acme().postRecord('dyn_stock_order', { notes: 'while parked' }, { headers });
  const order = await create();
  expect(order).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });
  expect(await create()).toMatchObject({
    status: 201,
    headers: { 'idempotency-replayed': 'true' },
    body: expect.objectContaining(Object(order.body)),
  });
  expect(performance.now() - startedAt).toBeLessThan(4 * FAST_MS);

  const made = await other().postRecord('dyn_item', { external_id: 'beside', name: 'Tea' });
  expect(made).toMatchObject({ status: 201, headers: expect.not.objectContaining({ 'projection-pending': 'true' }) });
  expect((await other().list('dyn_item')).meta.total).toBe(1);
  await approve(other(), (await validatedOrder(other())).order.id);
  await receiver.received('/other', 1);
});

test('what is parked goes on where it stood, after what was wrong is put right', async () => {
  const again = await service.cli('projections', 'retry', '--tenant', 'acme');
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^acme: tried again; /) });

  change('DROP TRIGGER lost');
  await service.restart('kill');
  // A start has tried it again.
  while ((await acme().getList('dyn_item')).status !== 200) await wait(50);
  expect((await acme().list('dyn_item')).data.map(({ external_id }) => external_id)).toEqual(['before', 'fits']);
  expect((await acme().list('dyn_stock_order')).data.map(({ notes }) => notes)).toEqual(['while parked']);
  const next = await acme().postRecord('dyn_item', { external_id: 'after', name: 'Water' });
  expect(next).toMatchObject({ status: 201, headers: expect.not.objectContaining({ 'projection-pending': 'true' }) });
  const none = await service.cli('projections', 'retry', '--tenant', 'acme');
  expect(none).toMatchObject({ code: 0, stdout: 'Nothing is parked there.\n' });
});
