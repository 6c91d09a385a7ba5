/** Each operation of the OpenAPI document once, in one story, for whatever engines a service has. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { ENGINE_START_MS } from '../engines/mongodb.js';
import { operationsOf, Schemas } from './apiDocument.js';
import { validatedOrder } from './export.js';
import type { Answer } from './http.js';
import { checkpointed, Operator } from './operator.js';
import type { Receiver } from './receiver.js';
import type { Service } from './service.js';
import { wholeDocument, withTables } from './tableDocument.js';
import { ASSETS, PLATFORM, type RequestOptions } from './tenant.js';

const LONG_AGO = '2020-01-01T00:00:00Z';
const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'staple the battery';
const USER = { email: 'vera@example.com', first_name: 'Vera', last_name: 'Bos', roles: ['admin'] };

/** Ids of records that were made, by their names in paths. */
const ids: { [parameter: string]: string } = { table: 'dyn_item' };

type Step = {
  /** As in the document: `GET /docs/{page}`. */
  readonly operation: string;
  /** What the path's parameters are, where it is not what `ids` says. */
  readonly at?: { readonly [parameter: string]: string };
  readonly body?: () => unknown;
  /** Behind the path's `?`. */
  readonly query?: () => string;
  /** Resolves when the request can be made. */
  readonly after?: () => Promise<unknown>;
  /** The parameter of later paths that the answer's `data` names. */
  readonly names?: string;
  /** The property of `data` with that name; `id` by default. */
  readonly by?: string;
  /** `auditing`: an API client that audits. `signed in`: the user whom the story adds. Default: an admin for the platform, a client for all else. */
  readonly who?: 'nobody' | 'signed in' | 'auditing';
};

const step = (operation: string, more: Omit<Step, 'operation'> = {}): Step => ({ operation, ...more });
const platform = (operation: string, more: Omit<Step, 'operation'> = {}): Step =>
  step(operation.replace(' ', ` ${PLATFORM}`), more);
const assets = (operation: string, more: Omit<Step, 'operation'> = {}): Step =>
  step(operation.replace(' ', ` ${ASSETS}`), more);

const OPEN: readonly Step[] = [
  '/health/live',
  '/health/ready',
  '/metrics',
  '/',
  '/docs',
  '/console',
  '/openapi.json',
  '/.well-known/oauth-authorization-server',
].map((path) => step(`GET ${path}`, { who: 'nobody' }));

/**
 * Registers the tests.
 * @param begin starts a service with a tenant `acme` of the stock model that delivers to the receiver
 */
export function everyOperation(begin: () => Promise<{ readonly service: Service; readonly receiver: Receiver }>): void {
  let receiver: Receiver;
  let service: Service;
  let schemas: Schemas;
  /** A moment of the tenant before the story. */
  let madeAt: string;
  /** Of the user whom the story adds. */
  let session: string;
  const done = new Set<string>();
  const acme = () => service.tenant('acme');

  beforeAll(async () => {
    ({ service, receiver } = await begin());
    madeAt = new Date().toISOString();
    schemas = new Schemas(withTables(await wholeDocument(acme())));
  }, ENGINE_START_MS);

  const item = (n: number) => ({ external_id: `I${n}`, name: `Item ${n}`, _batch_id: 'all' });
  const newOrder = async (parameter: string) => {
    ids[parameter] = (await validatedOrder(acme())).order.id;
  };
  /** Its first delivery is in the delivery log, with its outcome. */
  const delivered = async () => {
    const [call] = await receiver.received('/orders', 1);
    ids.delivery_id = String(call?.headers['webhook-id']);
    const path = `/webhooks/${ids.webhook_id}/deliveries/${ids.delivery_id}`;
    while (!(await acme().platform('GET', path)).text.includes('"state":"succeeded"')) await wait(20);
  };
  const twoMoments = () => `from=${madeAt}&to=${new Date().toISOString()}`;
  /** EventStoreDB finds no time among all orders. */
  const orderChanged = async () => {
    const { text } = await acme().send('GET', `${ASSETS}/dyn_stock_order/assets/${ids.order_id}/history`);
    ids.position = /"position":(\d+)/.exec(text)?.[1] ?? '';
  };
  const twoPositions = () => `from=${ids.position}&to=${ids.position}`;
  const signedIn = async (password: string) => {
    session = await acme().signIn({ email: USER.email, password });
  };
  const listed = async () => {
    await signedIn(NEW_PASSWORD);
    const { text } = await acme().platform('GET', '/sessions', { token: session });
    ids.session_id = /"id":"([^"]+)"/.exec(text)?.[1] ?? '';
  };

  /** An early event, as soon as a checkpoint covers it. */
  const proved = async () => {
    const { body } = await acme().platform('GET', '/activity?table=dyn_item&limit=100');
    const { data } = z.object({ data: z.array(z.object({ event_id: z.string() })) }).parse(body);
    ids.event_id = data.at(-1)?.event_id ?? '';
    await checkpointed(service, () => acme().platform('GET', `/audit/proof?event=${ids.event_id}`));
  };
  const auditing = async () => {
    session = await acme().auditToken();
  };

  const STORY: readonly Step[] = [
    ...OPEN,
    step('GET /docs/{page}', { at: { page: 'getting-started' }, who: 'nobody' }),
    step('GET /console/{page}', { at: { page: 'orders' }, who: 'nobody' }),
    step('POST /oauth/token', {
      who: 'nobody',
      body: () => ({
        grant_type: 'client_credentials',
        client_id: acme().client.client_id,
        client_secret: acme().client.client_secret,
      }),
    }),

    assets('GET '),
    assets('GET /dyn_item/info'),
    assets('POST /dyn_item/assets', { body: () => ({ external_id: 'I0', name: 'Tea' }), names: 'item_id' }),
    assets('GET /dyn_item/assets/{asset_id}', { at: { asset_id: 'item_id' } }),
    assets('PUT /dyn_item/assets/{asset_id}', { at: { asset_id: 'item_id' }, body: () => ({ name: 'Green tea' }) }),
    assets('GET /dyn_item/assets/{asset_id}/history', { at: { asset_id: 'item_id' } }),
    assets('POST /dyn_item/assets/batch', {
      body: () => ({ items: [item(1), item(2)] }),
      names: 'operation_id',
      by: 'operation_id',
    }),
    assets('GET /dyn_item/assets'),
    assets('GET /dyn_item/changes'),
    assets('GET /dyn_item/compare', { query: twoMoments }),
    assets('GET /dyn_item/operations'),
    assets('POST /dyn_item/operations/{operation_id}/undo', { body: () => ({}) }),
    assets('POST /dyn_item/assets/batch', { body: () => ({ items: [item(1), item(3)] }) }),
    assets('POST /dyn_item/assets/clean-up', { body: () => ({ batch_id: 'all' }) }),
    assets('POST /dyn_item/syncs', { names: 'sync_id' }),
    assets('POST /dyn_item/assets/batch', {
      body: () => ({ items: [{ ...item(1), name: 'Coffee', _batch_id: ids.sync_id }] }),
    }),
    assets('POST /dyn_item/syncs/{sync_id}/commit', { body: () => ({ records: 1 }) }),

    assets('GET /dyn_stock_order/info'),
    assets('POST /dyn_stock_order/assets', { body: () => ({ notes: 'New' }), names: 'order_id' }),
    assets('GET /dyn_stock_order/assets/{asset_id}', { at: { asset_id: 'order_id' } }),
    assets('PUT /dyn_stock_order/assets/{asset_id}', {
      at: { asset_id: 'order_id' },
      body: () => ({ notes: 'Changed' }),
    }),
    assets('GET /dyn_stock_order/assets'),
    assets('GET /dyn_stock_order/assets/{asset_id}/history', { at: { asset_id: 'order_id' } }),
    assets('GET /dyn_order_line/info'),
    assets('POST /dyn_order_line/assets', {
      body: () => ({ order_id: ids.order_id, quantity: 2.5 }),
      names: 'line_id',
    }),
    assets('GET /dyn_order_line/assets/{asset_id}', { at: { asset_id: 'line_id' } }),
    assets('PUT /dyn_order_line/assets/{asset_id}', { at: { asset_id: 'line_id' }, body: () => ({ quantity: 3 }) }),
    assets('GET /dyn_order_line/assets/{asset_id}/history', { at: { asset_id: 'line_id' } }),
    assets('GET /dyn_order_line/assets'),
    assets('GET /dyn_stock_order/compare', { after: orderChanged, query: twoPositions }),
    assets('GET /dyn_order_line/compare', { query: twoPositions }),
    assets('DELETE /dyn_order_line/assets/{asset_id}', { at: { asset_id: 'line_id' } }),

    platform('GET /tables'),
    platform('GET /tables/{table}/info'),
    platform('GET /tables/{table}/assets'),
    platform('GET /tables/{table}/compare', { query: twoMoments }),
    platform('GET /tables/{table}/operations'),
    platform('GET /tables/{table}/assets/{asset_id}/history', { at: { asset_id: 'item_id' } }),
    platform('POST /tables/{table}/assets/batch', {
      body: () => ({ items: [{ ...item(4), name: 'Imported' }] }),
      names: 'operation_id',
      by: 'operation_id',
    }),
    platform('POST /tables/{table}/operations/{operation_id}/undo', { body: () => ({}) }),
    platform('POST /tables/{table}/syncs', { names: 'sync_id' }),
    platform('POST /tables/{table}/syncs/{sync_id}/commit', { body: () => ({ records: 0 }) }),
    platform('POST /tables/{table}/assets/clean-up', { body: () => ({ batch_id: 'all' }) }),
    platform('POST /tables/{table}/assets', {
      at: { table: 'dyn_order_line' },
      body: () => ({ order_id: ids.order_id, quantity: 1 }),
      names: 'line_id',
    }),
    platform('GET /tables/{table}/assets/{asset_id}', { at: { table: 'dyn_order_line', asset_id: 'line_id' } }),
    platform('PUT /tables/{table}/assets/{asset_id}', {
      at: { table: 'dyn_order_line', asset_id: 'line_id' },
      body: () => ({ quantity: 4 }),
    }),
    platform('DELETE /tables/{table}/assets/{asset_id}', { at: { table: 'dyn_order_line', asset_id: 'line_id' } }),

    platform('POST /webhooks', {
      body: () => ({ url: receiver.url('/orders'), events: ['order.approved'] }),
      names: 'webhook_id',
    }),
    platform('GET /webhooks'),
    platform('GET /webhooks/{webhook_id}'),
    platform('PUT /webhooks/{webhook_id}', { body: () => ({ name: 'ERP' }) }),
    platform('POST /webhooks/{webhook_id}/secret/rotate'),

    platform('GET /orders'),
    platform('GET /orders/counts'),
    platform('PUT /orders/open', { body: () => ({ order_id: ids.order_id }) }),
    platform('PUT /orders/{order_id}', { body: () => ({ customer_reference: 'PO 1' }) }),
    platform('GET /orders/{order_id}'),
    platform('POST /orders/{order_id}/reject', {
      after: () => newOrder('order_id'),
      body: () => ({ reasons: ['No.'] }),
    }),
    platform('POST /orders/{order_id}/approve', { after: () => newOrder('order_id'), body: () => ({}) }),
    platform('GET /orders/{order_id}/history'),
    platform('GET /orders/{order_id}/replay'),
    platform('GET /webhooks/{webhook_id}/deliveries', { after: delivered }),
    platform('GET /webhooks/{webhook_id}/deliveries/{delivery_id}'),
    platform('GET /webhooks/{webhook_id}/deliveries/{delivery_id}/body'),
    platform('POST /webhooks/{webhook_id}/test', {
      after: () => receiver.received('/orders', 1),
      body: () => ({ event: 'order.approved' }),
    }),
    platform('POST /webhooks/{webhook_id}/deliveries/{delivery_id}/resend', {
      after: () => receiver.received('/orders', 2),
    }),
    platform('POST /webhooks/{webhook_id}/backfill', { body: () => ({ from: LONG_AGO }) }),
    platform('DELETE /webhooks/{webhook_id}', { after: () => receiver.received('/orders', 4) }),

    platform('GET /activity'),
    platform('GET /activity.csv'),
    assets('GET /activity', { after: () => auditing(), who: 'auditing' }),
    assets('GET /dyn_stock_order/assets/{asset_id}/replay', { at: { asset_id: 'order_id' }, who: 'auditing' }),
    assets('GET /activity.csv', { who: 'auditing' }),

    platform('GET /asset-types'),
    platform('POST /asset-types', {
      body: () => ({
        name: 'dyn_carrier',
        unique_field: 'code',
        fields: [{ name: 'code', type: 'String', required: true }],
      }),
    }),
    platform('POST /asset-types/{table}/fields', {
      body: () => ({ name: 'colour', type: 'String' }),
    }),
    platform('PUT /asset-types/{table}/fields/{field}', {
      at: { field: 'colour' },
      body: () => ({ retired: true }),
    }),
    platform('PUT /asset-types/{table}/labels', { body: () => ({ table: { nl: 'Artikelen' } }) }),
    platform('GET /tenant'),
    platform('PUT /tenant', {
      body: () => ({ clean_up_guard: { max_percent: 20 }, rate_limit: { per_second: 500, burst: 1000 } }),
    }),

    platform('POST /api-clients', { body: () => ({ name: 'ERP' }), names: 'client_id', by: 'client_id' }),
    platform('GET /api-clients'),
    platform('PUT /api-clients/{client_id}', { body: () => ({ name: 'New ERP' }) }),
    platform('POST /api-clients/{client_id}/secret'),
    platform('POST /api-clients/{client_id}/secret/rotate'),
    platform('DELETE /api-clients/{client_id}'),

    platform('POST /users', { body: () => ({ ...USER, password: PASSWORD }), names: 'user_id' }),
    platform('GET /users'),
    platform('PUT /users/{user_id}', { body: () => ({ first_name: 'Veerle' }) }),
    platform('POST /session', { who: 'nobody', body: () => ({ email: USER.email, password: PASSWORD }) }),
    platform('GET /session', { after: () => signedIn(PASSWORD), who: 'signed in' }),
    platform('POST /session/password', {
      who: 'signed in',
      body: () => ({ old_password: PASSWORD, new_password: NEW_PASSWORD }),
    }),
    platform('GET /sessions', { after: listed, who: 'signed in' }),
    platform('DELETE /sessions', { who: 'signed in' }),
    platform('DELETE /sessions/{session_id}', { after: listed, who: 'signed in' }),
    platform('DELETE /session', { after: () => signedIn(NEW_PASSWORD), who: 'signed in' }),
    platform('GET /orders/{order_id}/export', { after: proved }),
    platform('GET /audit/proof', { after: proved, query: () => `event=${ids.event_id}` }),

    platform('POST /users/{user_id}/password'),
    platform('DELETE /users/{user_id}'),
  ];

  async function ask(method: string, template: string, { at = {}, body, query, who }: Step): Promise<Answer> {
    const named = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[at[name] ?? name] ?? at[name] ?? name);
    const path = query === undefined ? named : `${named}?${query()}`;
    const options: RequestOptions = body === undefined ? {} : { body: body() };
    if (who !== undefined) return acme().send(method, path, { ...options, token: who === 'nobody' ? null : session });
    if (!path.startsWith(PLATFORM)) return acme().send(method, path, options);
    return acme().platform(method, path.slice(PLATFORM.length), options);
  }

  it.each(STORY)('$operation', async (asked) => {
    await asked.after?.();
    const [method = '', path = ''] = asked.operation.split(' ');
    const answer = await ask(method, path, asked);
    expect({ status: answer.status, isSuccess: answer.status < 400, text: answer.text }).toMatchObject({
      isSuccess: true,
    });
    if (asked.names !== undefined)
      ids[asked.names] = String(Reflect.get(Object(Reflect.get(Object(answer.body), 'data')), asked.by ?? 'id'));
    if (answer.status < 300) expect(schemas.errorsOf(method.toLowerCase(), path, answer)).toEqual([]);
    done.add(asked.operation);
  });

  it('these are all: other tables have the operations of dyn_item, or of dyn_order_line', () => {
    const others = /\/dyn_(?!item\/|order_line\/|stock_order\/)\w+\//;
    const all = operationsOf(schemas.document).map(({ method, path }) => `${method} ${path}`);
    expect(all.filter((operation) => !others.test(operation) && !done.has(operation))).toEqual([]);
  });

  it("and all of the operator's, at the host of their own", async () => {
    const operator = await Operator.of(service);
    for (const route of ['overview', 'history', 'tenants', 'jobs']) await operator.data(`/${route}`);
    await operator.data('/tenants/{tenant}', { at: acme().name });
    await operator.call('POST', '/tenants', { body: { name: `${acme().name}-2`, order_model: 'dyn_transport_order' } });
    await operator.data('/log', { query: `stream=tenant-${acme().name}` });
    const verified = await operator.ended(await operator.begin({ kind: 'verify', tenant: acme().name }));
    expect(verified.reports.map(({ outcome }) => outcome)).toEqual(['equal']);
    await operator.call('DELETE', '/jobs/{id}', { at: await operator.begin({ kind: 'verify' }) });
    const ids = operationsOf(operator.document).map(({ operation }) => operation.operationId);
    expect([...operator.called].sort()).toEqual([...ids].sort());
  });
}
