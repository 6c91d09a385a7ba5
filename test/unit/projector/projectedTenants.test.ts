import type { DirectoryEvent } from '#app/domain/identity/events.js';
import { tableStream, tenantStream } from '#app/domain/streams.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import { ProjectedTenants } from '#app/projector/steps.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

const created = (name: string): DirectoryEvent => ({
  type: 'TenantCreated',
  data: { name, displayName: name, orderModel: 'dyn_stock_order' },
});
const limited = (perSecond: number): DirectoryEvent => ({
  type: 'RateLimitChanged',
  data: { perSecond, burst: perSecond },
});

/** A log in memory, which counts what is read of it. */
class Log {
  readonly events: RecordedEvent[] = [];
  readonly read: string[] = [];

  append(stream: string, { type, data }: { readonly type: string; readonly data: unknown }): RecordedEvent {
    const position = this.events.length + 1;
    const revision = this.events.filter((event) => event.stream === stream).length;
    const event = { id: `${position}`, type, data, metadata, stream, revision, position };
    this.events.push(event);
    return event;
  }

  async readStream(stream: string): Promise<readonly RecordedEvent[]> {
    this.read.push(stream);
    return this.events.filter((event) => event.stream === stream);
  }
}

let log: Log;
beforeEach(() => {
  log = new Log();
});

const batch = (tenant: string) => log.append(tableStream(tenant, 'dyn_item'), { type: 'BatchUpserted', data: {} });
const change = (perSecond: number) => log.append(tenantStream('acme'), limited(perSecond));

it('a tenant is what it was at the event, whatever the log says of it later', async () => {
  log.append(tenantStream('acme'), created('acme'));
  change(1);
  const first = batch('acme');
  const between = change(2);
  const second = batch('acme');
  change(3);
  const tenants = new ProjectedTenants(log);
  await tenants.prepare([first, between]);
  expect(tenants.evolve(first)?.rateLimit?.perSecond).toBe(1);
  expect(tenants.evolve(between)?.rateLimit?.perSecond).toBe(2);
  await tenants.prepare([second]);
  expect(tenants.evolve(second)?.rateLimit?.perSecond).toBe(2);
});

it('a tenant that begins with its first event is evolved by it once', async () => {
  const event = log.append(tenantStream('acme'), created('acme'));
  const later = change(5);
  const tenants = new ProjectedTenants(log);
  await tenants.prepare([event, later]);
  expect(tenants.evolve(event)).toMatchObject({ name: 'acme' });
  expect(tenants.evolve(event)).not.toHaveProperty('rateLimit');
  expect(tenants.evolve(later)?.rateLimit?.perSecond).toBe(5);
});

it('each tenant is read once, and only when something of it comes', async () => {
  for (const name of ['acme', 'rival', 'quiet']) log.append(tenantStream(name), created(name));
  const events = [batch('acme'), batch('rival'), batch('acme')];
  const tenants = new ProjectedTenants(log);
  await tenants.prepare(events);
  await tenants.prepare(events);
  expect(log.read).toEqual([tenantStream('acme'), tenantStream('rival')]);
});

it('of a tenant that does not exist nothing is known, until it is created', async () => {
  const before = batch('later');
  const tenants = new ProjectedTenants(log);
  await tenants.prepare([before]);
  expect(tenants.evolve(before)).toBeUndefined();
  expect(tenants.evolve(log.append(tenantStream('later'), created('later')))).toMatchObject({ name: 'later' });
});

it('of a tenant that was deleted later nothing is projected but its end; nor is what stands behind that', async () => {
  const events = [log.append(tenantStream('acme'), created('acme')), batch('acme')];
  const end = log.append(tenantStream('acme'), { type: 'TenantDeleted', data: { name: 'acme' } });
  const late = batch('acme');
  const tenants = new ProjectedTenants(log);
  await tenants.prepare([...events, end, late]);
  for (const event of [...events, late]) expect(tenants.evolve(event)).toBeUndefined();
  expect(tenants.evolve(end)).toMatchObject({ name: 'acme', deleted: true });
});

it('a tenant that is deleted while its events are projected is projected until then', async () => {
  const before = [log.append(tenantStream('acme'), created('acme')), batch('acme')];
  const tenants = new ProjectedTenants(log);
  await tenants.prepare(before);
  for (const event of before) expect(tenants.evolve(event)).toMatchObject({ name: 'acme' });
  const end = log.append(tenantStream('acme'), { type: 'TenantDeleted', data: { name: 'acme' } });
  const late = batch('acme');
  await tenants.prepare([end, late]);
  expect(tenants.evolve(end)).toMatchObject({ deleted: true });
  expect(tenants.evolve(late)).toBeUndefined();
});

it('of a tenant with an event that cannot be applied it is said why, until it is deleted', async () => {
  const good = [log.append(tenantStream('acme'), created('acme')), batch('acme')];
  const bad = log.append(tenantStream('acme'), { type: 'AssetTableAdded', data: { assetType: { name: 'dyn_own' } } });
  const late = batch('acme');
  const tenants = new ProjectedTenants(log);
  await tenants.prepare([...good, bad, late]);
  for (const event of good) expect(tenants.evolve(event)).toMatchObject({ name: 'acme' });
  for (const event of [bad, late]) expect(() => tenants.evolve(event)).toThrow('which table was added');
  const end = log.append(tenantStream('acme'), { type: 'TenantDeleted', data: { name: 'acme' } });
  expect(tenants.evolve(end)).toMatchObject({ name: 'acme', deleted: true });
});

it('an event that names another tenant than its stream makes nobody of it', async () => {
  const other = log.append(tenantStream('acme'), created('other'));
  const tenants = new ProjectedTenants(log);
  await tenants.prepare([other]);
  expect(() => tenants.evolve(other)).toThrow('names another tenant than its stream');
});
