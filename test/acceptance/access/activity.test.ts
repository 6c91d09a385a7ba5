/** Activity: who did what, when, on what; and the auditor, who is shown all of it. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { validatedOrder } from '../export.js';
import type { Answer } from '../http.js';
import { checkpointed } from '../operator.js';
import { addPerson, askSession, type Person } from '../people.js';
import { ASSETS, PLATFORM, type Query, type TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({
  tenants: { acme: 'dyn_stock_order', seen: 'dyn_stock_order', told: 'dyn_stock_order' },
});

const entrySchema = z.looseObject({
  id: z.string(),
  kind: z.string(),
  actor: z.object({ kind: z.string(), id: z.string(), name: z.string().nullable() }),
  occurred_at: z.string(),
  correlation_id: z.string(),
  details: z.looseObject({}),
});
const pageSchema = z.strictObject({
  data: z.array(entrySchema),
  links: z.strictObject({ next: z.string().nullable() }),
});

async function page(query: Query | string = {}, tenant = acme()) {
  const answer = await tenant.platform('GET', '/activity', { query });
  if (answer.status !== 200) throw new Error(answer.text);
  return pageSchema.parse(answer.body);
}
const entries = async (query: Query = {}, tenant = acme()) => (await page(query, tenant)).data;
const requestOf = ({ headers }: Answer): string => String(headers['x-request-id']);

describe('an entry', () => {
  it('tells who did what, when, on which record, and by which request', async () => {
    const made = await acme().postRecord('dyn_item', { external_id: 'A-1', name: 'Tea' });
    const { id } = z.object({ data: z.object({ id: z.string() }) }).parse(made.body).data;
    expect(await entries({ record_id: id })).toMatchObject([
      {
        kind: 'record.created',
        actor: { kind: 'client', id: acme().client.client_id, name: expect.stringMatching(/./) },
        table: 'dyn_item',
        record_id: id,
        name: 'Tea',
        order_id: null,
        operation_id: null,
        request: { method: 'POST', path: `${ASSETS}/dyn_item/assets`, request_id: requestOf(made) },
        correlation_id: requestOf(made),
      },
    ]);
  });

  it('has the name of its order and of the customer; of a record that is gone, the last one', async () => {
    const seen = tenant('seen');
    const { order, item, buyer } = await validatedOrder(seen);
    expect(await entries({ order_id: order.id, kind: 'order.created' }, seen)).toMatchObject([
      { name: order.customer_reference, customer: buyer.name },
    ]);
    await seen.update('dyn_item', item.id, { name: 'Green tea' });
    await seen.platform('DELETE', `/tables/dyn_item/assets/${item.id}`);
    const names = (await entries({ record_id: item.id }, seen)).map(({ kind, name }) => [kind, name]);
    expect(names).toEqual(['deleted', 'changed', 'created'].map((what) => [`record.${what}`, 'Green tea']));
  });

  it('keeps the name of a client that was removed, and of a user as it was then', async () => {
    const client = z
      .object({ client_id: z.string(), client_secret: z.string() })
      .parse(await acme().platformData('POST', '/api-clients', { name: 'Shop', scopes: ['write:reference_data'] }));
    const granted = await acme().requestToken({ grant_type: 'client_credentials', ...client });
    const { access_token: token } = z.object({ access_token: z.string() }).parse(granted.body);
    await acme().postRecord('dyn_item', { external_id: 'A-2', name: 'Tea' }, { token });
    await acme().platform('DELETE', `/api-clients/${client.client_id}`);
    const named = { kind: 'client', id: client.client_id, name: 'Shop' };
    expect(await entries({ actor: client.client_id })).toMatchObject([{ kind: 'record.created', actor: named }]);
    expect(await entries({ client_id: client.client_id })).toMatchObject([
      { kind: 'client.removed', name: 'Shop' },
      { kind: 'client.created', name: 'Shop' },
    ]);

    const vera = await addPerson(acme(), 'vera', ['admin']);
    await vera.call('PUT', `/users/${vera.id}`, { first_name: 'Veerle', roles: ['admin', 'auditor'] });
    await vera.call('PUT', '/tenant', { clean_up_guard: { max_percent: 20 } });
    const own = await entries({ actor: String(vera.id) });
    expect(own.map(({ kind, actor }) => [kind, actor.name])).toEqual([
      ['settings.clean_up_guard_changed', 'Veerle Bos'],
      ['user.changed', 'vera Bos'],
      ['session.opened', 'vera Bos'],
    ]);
    expect(own[1]).toMatchObject({ fields: ['first_name', 'roles'], details: { roles: ['admin', 'auditor'] } });
    expect((await entries({ actor: 'Veerle Bos' })).map(({ id }) => id)).toEqual(own.map(({ id }) => id));
  });

  it('is one for a batch of many records with many batch ids', async () => {
    const items = Array.from({ length: 30 }, (_, n) => ({ external_id: `B-${n}`, name: 'B', _batch_id: `b${n}` }));
    const { operation_id: operation = '' } = await acme().batch('dyn_item', items);
    expect(await entries({ kind: 'table.batch', limit: '1' })).toMatchObject([
      { kind: 'table.batch', operation_id: operation, counts: { created: 30, updated: 0, seen: 0, deleted: 0 } },
    ]);
  });
});

describe('the history of a record', () => {
  const history = z.object({
    data: z.array(z.looseObject({ change: z.string(), kind: z.string(), operation_id: z.string().nullable() })),
    links: z.object({ next: z.string().nullable() }),
  });
  const told = async (id: string, query: Query | string = {}) => {
    const answer = await acme().send('GET', `${ASSETS}/dyn_party/assets/${id}/history`, { query });
    if (answer.status !== 200) throw new Error(answer.text);
    return history.parse(answer.body);
  };

  it('has each change field by field, with who, when and by which operation, also of a record that is gone', async () => {
    const made = await acme().postRecord('dyn_party', { external_id: 'BOX', name: 'Box' });
    const { id } = z.object({ data: z.object({ id: z.string() }) }).parse(made.body).data;
    await acme().putRecord('dyn_party', id, { name: 'Carton' });
    const batch = await acme().batch('dyn_party', [
      { external_id: 'BAG', name: 'Bag', _batch_id: 'two' },
      { external_id: 'BOX', name: 'Crate', _batch_id: 'one' },
    ]);
    await acme().batch('dyn_party', [{ external_id: 'BOX', name: 'Crate', _batch_id: 'same again' }]);
    const { operation_id: cleanUp = '' } = await acme().cleanUp('dyn_party', 'two', 1);
    const gone = await told(id);
    expect((await acme().getRecord('dyn_party', id)).status).toBe(404);
    await acme().postUndo('dyn_party', cleanUp);
    const { data, links } = await told(id);
    expect(data.slice(1)).toEqual(gone.data);
    const actor = { kind: 'client', id: acme().client.client_id, name: 'First API client' };
    const box = { external_id: { from: 'BOX', to: null }, name: { from: 'Crate', to: null } };
    expect(data).toMatchObject([
      { kind: 'table.undo', change: 'create', fields: { external_id: { from: null, to: 'BOX' } }, actor },
      { kind: 'table.clean_up', change: 'delete', fields: box, actor, operation_id: cleanUp },
      {
        kind: 'table.batch',
        change: 'update',
        fields: { name: { from: 'Carton', to: 'Crate' } },
        operation_id: batch.operation_id,
      },
      { kind: 'record.changed', change: 'update', fields: { name: { from: 'Box', to: 'Carton' } }, operation_id: null },
      { kind: 'record.created', change: 'create', fields: { name: { from: null, to: 'Box' } }, actor },
    ]);
    expect(data[4]).toMatchObject({ correlation_id: requestOf(made), operation_id: null });
    expect(links).toEqual({ next: null });

    const paged: unknown[] = [];
    let next: string | null = `?limit=2`;
    for (let pages = 0; next !== null && pages < 5; pages++) {
      const page: z.output<typeof history> = await told(id, next.split('?')[1]);
      paged.push(...page.data);
      next = page.links.next;
    }
    expect(paged).toEqual(data);
  });
});

describe('the list', () => {
  it('goes newest first, page by page, with the same filters', async () => {
    await acme().create('dyn_item', { external_id: 'A-3', name: 'Tea' });
    const all = await entries({ kind: 'record.created', limit: '100' });
    const ids: string[] = [];
    for (let next: string | null = `${PLATFORM}/activity?kind=record.created&limit=2`; next !== null; ) {
      const { search } = new URL(next, 'http://localhost');
      const { data, links } = await page(search.slice(1));
      expect(data.length).toBeLessThanOrEqual(2);
      ids.push(...data.map(({ id }) => id));
      next = links.next;
    }
    expect(ids).toEqual(all.map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(2);
    const times = all.map(({ occurred_at: at }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  it('is CSV as well, in which no cell is a formula', async () => {
    await acme().platformData('POST', '/api-clients', { name: '=1+1, "x"' });
    const answer = await acme().platform('GET', '/activity.csv', { query: { kind: 'client.created', limit: '1' } });
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    const [head, first] = answer.text.split('\r\n');
    expect(head).toMatch(/^\uFEFFoccurred_at,kind,actor_kind,actor_id,actor_name,table,record_id,/);
    expect(first).toContain('"{""name"":""=1+1, \\""x\\""""');
    expect(answer.headers.link).toMatch(/^<http.*activity\.csv\?.*cursor=[\d.]+.*>; rel="next"$/);
    const [, next = ''] = /<([^>]+)>/.exec(String(answer.headers.link)) ?? [];
    const rest = await acme().platform('GET', '/activity.csv', { query: new URL(next).search.slice(1) });
    expect(rest.text.split('\r\n')[0]).toBe(head?.slice(1));
  });

  it.each([
    ['cursor=x', 'cursor'],
    ['kind=order', 'kind'],
    ['limit=101', 'limit'],
    ['record_id=1&user_id=2', 'exclude'],
    ['from=soon', 'from'],
  ])('refuses %s', async (query, named) => {
    const answer = await acme().platform('GET', '/activity', { query });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(named)]);
  });
});

describe('a refusal to a person', () => {
  it('is told ten times a minute at most; what was typed as the name is kept only if a user has it', async () => {
    const told = tenant('told');
    const eve = await addPerson(told, 'eve', ['validator']);
    const refused = await askSession(told, eve.email, 'wrong password');
    expect(refused.status).toBe(401);
    const refusals = () => entries({ kind: 'session.refused' }, told);
    const found = async (count: number) => {
      for (let left = 100; left > 0 && (await refusals()).length < count; left -= 1) await wait(20);
      return refusals();
    };
    expect(await found(1)).toMatchObject([
      { actor: { kind: 'system', id: 'sign-in' }, user_id: String(eve.id), details: { times: 1 } },
    ]);
    for (let n = 0; n < 12; n += 1) await askSession(told, 'hunter2', 'hunter2');
    const all = await found(10);
    expect(all.length).toBeLessThan(12);
    expect(JSON.stringify(all)).not.toContain('hunter2');
  });

  it('of what their roles do not allow is told, with the roles that would', async () => {
    const seen = tenant('seen');
    const eve = await addPerson(seen, 'eve', ['validator']);
    expect((await eve.call('POST', '/users', {})).status).toBe(403);
    const refusals = () => entries({ kind: 'request.refused' }, seen);
    for (let left = 100; left > 0 && (await refusals()).length === 0; left -= 1) await wait(20);
    expect(await refusals()).toMatchObject([
      {
        actor: { kind: 'user', id: String(eve.id) },
        details: { needs_role: ['admin'], times: 1 },
        request: { method: 'POST', path: `${PLATFORM}/users` },
      },
    ]);
  });
});

describe('the auditor', () => {
  it('is told no secret: of what an auditor reads, nothing looks like one', async () => {
    await acme().platformData('POST', '/webhooks', { url: 'https://erp.example/orders', events: ['order.approved'] });
    const ada: Person = await addPerson(acme(), 'bea', ['auditor']);
    const paths = ['/users', '/api-clients', '/webhooks', '/tenant', '/activity?limit=100', '/activity.csv'];
    const texts = await Promise.all(paths.map(async (path) => (await ada.call('GET', path)).text));
    expect(texts.filter((text) => /das_|whsec_|scrypt|secretHash|passwordHash|sealed/i.test(text))).toEqual([]);
    expect(texts.every((text) => text.length > 10)).toBe(true);
  });
});

describe('a proof of an event', () => {
  it('is for those who audit, and of events of their own tenant alone', async () => {
    const madeIn = async (tenant: TenantClient) =>
      String((await entries({ kind: 'tenant.created' }, tenant))[0]?.event_id);
    const [own, others] = [await madeIn(acme()), await madeIn(tenant('seen'))];
    const auditor = await addPerson(acme(), 'cleo', ['auditor']);
    const clerk = await addPerson(acme(), 'dora', ['validator']);
    const prove = (event: string, by: Person = auditor) => by.call('GET', `/audit/proof?event=${event}`);
    const answer = await checkpointed(service(), () => prove(own));
    const { data } = z.object({ data: z.object({ leaf: z.string(), proof: z.string() }) }).parse(answer.body);
    expect(JSON.parse(data.leaf)).toMatchObject({ id: own, type: 'TenantCreated', data: { name: acme().name } });
    expect(data.proof).toMatch(/^c2sp\.org\/tlog-proof@v1\nindex \d+\n/);
    expect(await prove(others)).toMatchObject({ status: 404 });
    expect((await Promise.all([own, others].map((event) => prove(event, clerk)))).map(({ status }) => status)).toEqual([
      403, 403,
    ]);
    expect(await acme().platform('GET', `/audit/proof?event=${own}`, { token: null })).toMatchObject({ status: 401 });
  });
});
