/**
 * An event of a tenant's own stream that nobody can apply: what the tenant is cannot be told from there on, so all of it is
 * refused, and every other tenant notices nothing, also at the next start. The tenant can be deleted.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { tenantStream } from '#app/domain/streams.js';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { appendByHand } from '../acceptance/logEvent.js';
import { Receiver } from '../acceptance/receiver.js';
import { PATIENT, type Service, startService } from '../acceptance/service.js';

const REASON = /^This tenant is not served: the event AssetTableAdded at position \d+ could not be applied\./;

let receiver: Receiver;
let service: Service;
const acme = () => service.tenant('acme');
const other = () => service.tenant('other');
const ready = () => service.send({ method: 'GET', path: '/health/ready' });

beforeAll(async () => {
  receiver = await Receiver.start();
  service = await startService({
    tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
    env: { ...PATIENT, ...quickDelivery(receiver) },
  });
  await addWebhook(other(), receiver.url('/other'));
  await acme().create('dyn_item', { external_id: 'before', name: 'Tea' });
});
afterAll(async () => {
  await service.dispose();
  await receiver.stop();
});

let exported = 0;
async function onlyTheOtherIsServed(round: string): Promise<void> {
  for (const refused of [
    await acme().getList('dyn_item'),
    await acme().postRecord('dyn_stock_order', { notes: 'no' }),
    await acme().requestToken({ grant_type: 'client_credentials', ...acme().client }),
  ]) {
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(refused.text).toContain('This tenant is not served');
  }
  const made = await other().postRecord('dyn_item', { external_id: round, name: 'Tea' });
  expect(made).toMatchObject({ status: 201, headers: expect.not.objectContaining({ 'projection-pending': 'true' }) });
  const { order } = await validatedOrder(other());
  await approve(other(), order.id);
  await receiver.received('/other', ++exported);
  // What comes of directories goes on as well.
  await other().platformData('POST', '/asset-types', {
    name: `dyn_${round}`,
    fields: [{ name: 'external_id', type: 'String', required: true }],
  });
  expect((await other().getList(`dyn_${round}`)).status).toBe(200);
}

it('parks that tenant alone, with the reason, in the running service and after each start', async () => {
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
    while (!(await ready()).text.includes('parked')) await wait(50);
    const { status, text } = await ready();
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('1 tenant is parked') });
  }
});

it('the command line says so, and works for all others', async () => {
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

it('it can be deleted, and then nobody is parked', async () => {
  expect((await service.cli('tenant', 'delete', 'acme', '--confirm', 'acme')).code).toBe(0);
  while ((await ready()).text.includes('parked')) await wait(50);
  expect((await acme().getList('dyn_item')).status).toBe(404);
  await service.restart('stop');
  expect((await acme().getList('dyn_item')).status).toBe(404);
  expect((await service.cli('projections', 'verify')).code).toBe(0);
  expect((await service.cli('tenant', 'create', 'acme', '--order-model', 'dyn_stock_order')).stderr).toContain(
    'was deleted',
  );
});
