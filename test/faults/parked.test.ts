/**
 * An event that cannot be made into rows: that tenant's reads are refused, and every other tenant notices nothing.
 * It goes on where it stood, after what was wrong is put right. And one of a tenant's own stream that nobody can apply: what the
 * tenant is cannot be told from there on, so all of it is refused, also at the next start. The tenant can be deleted.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { newId } from '#app/commands/clock.js';
import { tableStream, tenantStream } from '#app/domain/streams.js';
import { addWebhook, approvedOrder, quickDelivery } from '../acceptance/export.js';
import { appendByHand } from '../acceptance/logEvent.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';

/** What waits for rows waits so long: far longer than a busy machine takes for an answer that waits for nothing. */
const LONG_WAITS = { REQUEST_TIMEOUT_MS: '120000', WRITE_WAIT_MS: '60000' };
const FAST_MS = 5_000;

const receiver = Receiver.ofTests();
let service: Service;
const acme = () => service.tenant('acme');
const other = () => service.tenant('other');

let position: number;
beforeAll(async () => {
  const tenants = { acme: 'dyn_stock_order', other: 'dyn_stock_order' } as const;
  service = await startService({ tenants, env: { ...LONG_WAITS, ...quickDelivery(receiver) } });
  await addWebhook(other(), receiver.url('/other'));
  await acme().create('dyn_item', { external_id: 'before', name: 'Tea' });
  await service.stop();
  service.changeRows(`CREATE TRIGGER lost BEFORE INSERT ON rows WHEN NEW.key = 'fits'
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
afterAll(() => service.dispose());

let exported = 0;
async function otherIsServed(key: string): Promise<void> {
  const made = await other().postRecord('dyn_item', { external_id: key, name: 'Tea' });
  expect(made).toMatchObject({ status: 201, headers: expect.not.objectContaining({ 'projection-pending': 'true' }) });
  exported += 1;
  // Each order before it has brought an item of its own.
  expect((await other().list('dyn_item')).meta.total).toBe(2 * exported - 1);
  await approvedOrder(other());
  await receiver.received('/other', exported);
}

async function isParked(): Promise<void> {
  for (let answer = await service.readiness(); ; answer = await service.readiness()) {
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
  await otherIsServed('beside');
  const doctor = /acme is parked since .*: RecordCreated at position \d+ \([\w-]+\) could not be applied\. /;
  expect((await service.cli('doctor')).stdout).toMatch(doctor);
});

test('what is parked goes on where it stood, after what was wrong is put right', async () => {
  const again = await service.cli('projections', 'retry', '--tenant', 'acme');
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^acme: tried again; /) });

  service.changeRows('DROP TRIGGER lost');
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

const REASON = /^This tenant is not served: the event AssetTableAdded at position \d+ could not be applied\./;

async function onlyTheOtherIsServed(round: string): Promise<void> {
  for (const refused of [
    await acme().getList('dyn_item'),
    await acme().postRecord('dyn_stock_order', { notes: 'no' }),
    await acme().requestToken({ grant_type: 'client_credentials', ...acme().client }),
  ]) {
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(refused.text).toContain('This tenant is not served');
  }
  await otherIsServed(round);
  // What comes of directories goes on as well.
  await other().platformData('POST', '/asset-types', {
    name: `dyn_${round}`,
    fields: [{ name: 'external_id', type: 'String', required: true }],
  });
  expect((await other().getList(`dyn_${round}`)).status).toBe(200);
}

test('an event of its own stream parks the tenant alone, with the reason, in the running service and after each start', async () => {
  // No such table: it has no fields.
  const poison = { assetType: { name: 'dyn_poison' } };
  await appendByHand({ DATA_DIR: service.dataDir }, tenantStream('acme'), 'AssetTableAdded', poison);
  // The rows may be parked a moment before.
  while (!(await acme().getList('dyn_item')).text.includes('This tenant is not served')) await wait(50);
  const { body } = await acme().getList('dyn_item');
  expect(body).toMatchObject({ error: expect.stringMatching(REASON) });
  await onlyTheOtherIsServed('running');
  await service.createTenant('third', 'dyn_transport_order');
  expect((await service.tenant('third').getList('dyn_party')).status).toBe(200);

  for (const how of ['stop', 'kill'] as const) {
    // What is stored of the directory is not taken for whole.
    await wait(1_500);
    await service.restart(how);
    await onlyTheOtherIsServed(how === 'stop' ? 'stopped' : 'killed');
    while (!(await service.readiness()).text.includes('parked')) await wait(50);
    const { status, text } = await service.readiness();
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('1 tenant is parked') });
  }
});

test('the command line says that it is parked, and works for all others', async () => {
  const list = JSON.parse((await service.cli('projections', 'list', '--json')).stdout);
  expect(list.tenants[0]).toMatchObject({ tenant: 'acme', parked: { eventType: 'AssetTableAdded' } });
  const doctor = await service.cli('doctor');
  expect(doctor.stdout).toContain('acme is parked since');
  expect(doctor.stdout).toContain('which table was added');
  const refused = await service.cli('client', 'create', '--tenant', 'acme', '--name', 'ERP');
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toMatch(
    /^The tenant is parked: AssetTableAdded \(.+\) of the stream tenant-acme could not be applied/,
  );
  expect((await service.cli('client', 'create', '--tenant', 'other', '--name', 'ERP')).code).toBe(0);
  expect((await service.cli('tenant', 'list')).stdout).toMatch(/^acme .*\nother .*\nthird /m);
  expect((await service.cli('projections', 'verify', '--tenant', 'other')).code).toBe(0);
  // As far as they are made.
  expect((await service.cli('projections', 'verify', '--tenant', 'acme')).stdout).toMatch(/^acme: equal to the log\./);
  expect((await service.cli('projections', 'rebuild', '--tenant', 'other')).code).toBe(0);
});

test('a tenant that is parked can be deleted, and then nobody is parked', async () => {
  expect((await service.cli('tenant', 'delete', 'acme', '--confirm', 'acme')).code).toBe(0);
  while ((await service.readiness()).text.includes('parked')) await wait(50);
  expect((await acme().getList('dyn_item')).status).toBe(404);
  await service.restart('stop');
  expect((await acme().getList('dyn_item')).status).toBe(404);
  expect((await service.cli('projections', 'verify')).code).toBe(0);
  expect((await service.cli('tenant', 'create', 'acme', '--order-model', 'dyn_stock_order')).stderr).toContain(
    'was deleted',
  );
});
