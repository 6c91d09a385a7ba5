/** A tenant that is deleted while the service runs, and the one beside it. */
import { setTimeout as wait } from 'node:timers/promises';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../export.js';
import { Receiver } from '../receiver.js';
import { type Service, startService } from '../service.js';
import { PLATFORM, type TenantClient } from '../tenant.js';

let receiver: Receiver;
let service: Service;
beforeAll(async () => {
  receiver = await Receiver.start();
  const env = { ...quickDelivery(receiver), WEBHOOK_BACKOFF_MS: '0,50,6000,6000,6000' };
  service = await startService({ tenants: { gone: 'dyn_stock_order', stays: 'dyn_stock_order' }, env });
});
afterAll(async () => {
  await service?.dispose();
  await receiver?.stop();
});

/** How many jobs are in the queue, by their state. */
async function jobs(state: string): Promise<number> {
  const { text } = await service.send({ method: 'GET', path: '/metrics' });
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('queue_messages{') && line.includes(`state="${state}"`));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

const statusOf = async (tenant: TenantClient, path: string, token: string) =>
  (await tenant.send('GET', path, { token })).status;

it('ends its tokens, sessions and webhooks at once, and nothing of the other', async () => {
  const [gone, stays] = [service.tenant('gone'), service.tenant('stays')];
  receiver.reply('/gone', () => ({ status: 500 }));
  await addWebhook(gone, receiver.url('/gone'));
  await addWebhook(stays, receiver.url('/stays'));
  const { order } = await validatedOrder(gone);
  await approve(gone, order.id);
  await receiver.received('/gone', 2);
  const [token, session] = [await gone.token(), await gone.signIn()];

  const wrong = await service.cli('tenant', 'delete', 'gone', '--confirm', 'stays');
  expect(wrong).toMatchObject({ code: 2, stderr: 'Nothing was deleted: that is not the name gone.\n' });
  const unasked = await service.cli('tenant', 'delete', 'gone');
  expect(unasked).toMatchObject({ code: 2, stderr: 'Confirm the name: --confirm gone\n' });
  expect(await statusOf(gone, `${PLATFORM}/session`, session)).toBe(200);

  const deleted = await service.cli('tenant', 'delete', 'gone', '--confirm', 'gone', '--json');
  expect(deleted).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(deleted.stdout)).toEqual({ tenant: 'gone', deleted: true });

  while ((await statusOf(gone, `${PLATFORM}/session`, session)) !== 404) await wait(20);
  expect((await gone.getList('dyn_item', '', { token })).status).toBe(404);
  expect((await gone.requestToken({ grant_type: 'client_credentials', ...gone.client })).status).toBe(404);
  expect((await stays.getList('dyn_item', '', { token })).status).toBe(401);

  const other = await validatedOrder(stays);
  await approve(stays, other.order.id);
  await receiver.received('/stays', 1);
  expect((await stays.list('dyn_stock_order')).meta.total).toBe(1);
});

it('the command line knows it no more, and its name is not given again', async () => {
  expect(JSON.parse((await service.cli('tenant', 'list', '--json')).stdout)).toMatchObject([{ tenant: 'stays' }]);
  for (const command of [
    ['tenant', 'delete', 'gone', '--confirm', 'gone'],
    ['client', 'list', '--tenant', 'gone'],
    ['user', 'create', '--tenant', 'gone', '--email', 'a@b.example', '--first-name', 'A', '--last-name', 'B'],
  ]) {
    expect(await service.cli(...command)).toMatchObject({
      code: 2,
      stderr: 'There is no tenant gone. There is: stays.\n',
    });
  }
  expect(await service.cli('tenant', 'create', 'gone', '--order-model', 'dyn_stock_order')).toMatchObject({
    code: 1,
    stderr: 'Tenant gone was deleted; its name is not given again.\n',
  });
});

it('after a restart it is gone as well; its job is dropped when it is due, and is no dead letter', async () => {
  const gone = service.tenant('gone');
  const [token, calls] = [await gone.token(), receiver.calls('/gone').length];
  await service.restart('kill');
  while ((await jobs('delayed')) + (await jobs('ready')) + (await jobs('in_work')) > 0) await wait(100);
  expect((await gone.getList('dyn_item', '', { token })).status).toBe(404);
  expect(await jobs('dead')).toBe(0);
  expect(receiver.calls('/gone')).toHaveLength(calls);
  expect((await service.tenant('stays').list('dyn_stock_order')).meta.total).toBe(1);
  expect(service.loggedErrors).toEqual([]);
});
