/** Each operation of the OpenAPI document once, with its example, in one story, for whatever engines a service has. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { ENGINE_START_MS } from '../engines/mongodb.js';
import { type DocumentedOperation, operationsOf, Schemas } from './apiDocument.js';
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
const ids: { [parameter: string]: string } = { table: 'dyn_party' };

type Step = {
  /** As in the document: `GET /docs/{page}`. */
  readonly operation: string;
  /** What the path's parameters are, where it is not what `ids` says. */
  readonly at?: { readonly [parameter: string]: string };
  /** In place of the document's example. */
  readonly body?: () => unknown;
  /** Members that replace those of the example: ids and the like. */
  readonly own?: () => object;
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
 * @returns by operation id, what was answered in JSON, to the example where there is one
 */
export function everyOperation(
  begin: () => Promise<{ readonly service: Service; readonly receiver: Receiver }>,
): ReadonlyMap<string, unknown> {
  let receiver: Receiver;
  let service: Service;
  let schemas: Schemas;
  /** A moment of the tenant before the story. */
  let madeAt: string;
  /** Of the user whom the story adds. */
  let session: string;
  const done = new Set<string>();
  const answers = new Map<string, unknown>();
  const acme = () => service.tenant('acme');

  beforeAll(async () => {
    ({ service, receiver } = await begin());
    madeAt = new Date().toISOString();
    const { text } = await acme().send('GET', `${ASSETS}/dyn_party/changes`);
    ids.cursor = /"next_cursor":"([^"]+)"/.exec(text)?.[1] ?? '';
    schemas = new Schemas(withTables(await wholeDocument(acme())));
  }, ENGINE_START_MS);

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
    const { body } = await acme().platform('GET', '/activity?table=dyn_party&limit=100');
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
      own: () => ({ client_id: acme().client.client_id, client_secret: acme().client.client_secret }),
    }),

    assets('GET '),
    assets('GET /dyn_party/info'),
    assets('POST /dyn_party/assets', { body: () => ({ external_id: 'I0', name: 'Tea' }), names: 'item_id' }),
    assets('GET /dyn_party/assets/{asset_id}', { at: { asset_id: 'item_id' } }),
    assets('PUT /dyn_party/assets/{asset_id}', { at: { asset_id: 'item_id' }, body: () => ({ name: 'Green tea' }) }),
    assets('GET /dyn_party/assets/{asset_id}/history', { at: { asset_id: 'item_id' } }),
    assets('POST /dyn_party/assets/batch', { names: 'operation_id', by: 'operation_id' }),
    assets('GET /dyn_party/assets'),
    assets('GET /dyn_party/changes', { query: () => `after=${ids.cursor}` }),
    assets('GET /dyn_party/compare', { query: twoMoments }),
    assets('GET /dyn_party/operations'),
    assets('POST /dyn_party/operations/{operation_id}/undo'),
    assets('POST /dyn_party/assets/clean-up'),
    assets('POST /dyn_party/syncs', { names: 'sync_id' }),
    assets('POST /dyn_party/assets/batch', {
      body: () => ({ items: [{ external_id: 'C-1002', name: 'Koffiehuis', _batch_id: ids.sync_id }] }),
    }),
    assets('POST /dyn_party/syncs/{sync_id}/commit'),

    assets('GET /dyn_stock_order/info'),
    assets('POST /dyn_stock_order/assets', { names: 'order_id' }),
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
    platform('POST /tables/{table}/assets/batch', { names: 'operation_id', by: 'operation_id' }),
    platform('POST /tables/{table}/operations/{operation_id}/undo'),
    platform('POST /tables/{table}/syncs', { names: 'sync_id' }),
    platform('POST /tables/{table}/syncs/{sync_id}/commit', { own: () => ({ records: 0 }) }),
    platform('POST /tables/{table}/assets/clean-up'),
    platform('POST /tables/{table}/assets', {
      at: { table: 'dyn_order_line' },
      own: () => ({ order_id: ids.order_id }),
      names: 'line_id',
    }),
    platform('GET /tables/{table}/assets/{asset_id}', { at: { table: 'dyn_order_line', asset_id: 'line_id' } }),
    platform('PUT /tables/{table}/assets/{asset_id}', {
      at: { table: 'dyn_order_line', asset_id: 'line_id' },
    }),
    platform('DELETE /tables/{table}/assets/{asset_id}', { at: { table: 'dyn_order_line', asset_id: 'line_id' } }),

    platform('POST /webhooks', { own: () => ({ url: receiver.url('/orders') }), names: 'webhook_id' }),
    platform('PUT /webhooks/{webhook_id}', { body: () => ({ name: 'ERP', events: ['order.approved'] }) }),
    platform('GET /webhooks'),
    platform('GET /webhooks/{webhook_id}'),
    platform('POST /webhooks/{webhook_id}/secret/rotate'),

    platform('GET /orders'),
    platform('GET /orders/counts'),
    platform('PUT /orders/open'),
    platform('PUT /orders/{order_id}', { after: () => newOrder('order_id') }),
    platform('GET /orders/{order_id}'),
    platform('POST /orders/{order_id}/reject'),
    platform('POST /orders/{order_id}/approve', { after: () => newOrder('order_id') }),
    platform('GET /orders/{order_id}/history'),
    platform('GET /orders/{order_id}/replay'),
    platform('GET /webhooks/{webhook_id}/deliveries', { after: delivered }),
    platform('GET /webhooks/{webhook_id}/deliveries/{delivery_id}'),
    platform('GET /webhooks/{webhook_id}/deliveries/{delivery_id}/body'),
    platform('POST /webhooks/{webhook_id}/test', { after: () => receiver.received('/orders', 1) }),
    platform('POST /webhooks/{webhook_id}/deliveries/{delivery_id}/resend', {
      after: () => receiver.received('/orders', 2),
    }),
    platform('POST /webhooks/{webhook_id}/backfill', { own: () => ({ from: LONG_AGO }) }),
    platform('PUT /webhooks/{webhook_id}', { after: () => receiver.received('/orders', 4) }),
    platform('DELETE /webhooks/{webhook_id}'),
    assets('PUT /dyn_stock_order/assets/{asset_id}', { at: { asset_id: 'order_id' } }),

    platform('GET /activity', { query: () => 'kind=order.approved' }),
    platform('GET /activity.csv'),
    assets('GET /activity', { after: () => auditing(), query: () => 'kind=order.approved', who: 'auditing' }),
    assets('GET /dyn_stock_order/assets/{asset_id}/replay', { at: { asset_id: 'order_id' }, who: 'auditing' }),
    assets('GET /activity.csv', { who: 'auditing' }),

    platform('GET /asset-types'),
    platform('POST /asset-types'),
    platform('POST /asset-types/{table}/fields', { at: { table: 'dyn_item' } }),
    platform('PUT /asset-types/{table}/fields/{field}', { at: { table: 'dyn_item', field: 'carrier_id' } }),
    platform('PUT /asset-types/{table}/labels', { at: { table: 'dyn_item' } }),
    platform('GET /tenant'),

    platform('POST /api-clients', { names: 'client_id', by: 'client_id' }),
    platform('GET /api-clients'),
    platform('PUT /api-clients/{client_id}'),
    platform('POST /api-clients/{client_id}/secret'),
    platform('POST /api-clients/{client_id}/secret/rotate'),
    platform('DELETE /api-clients/{client_id}'),

    platform('POST /users', { names: 'user_id' }),
    platform('GET /users'),
    platform('PUT /users/{user_id}'),
    platform('POST /users/{user_id}/password'),
    platform('DELETE /users/{user_id}'),
    platform('POST /users', { body: () => ({ ...USER, password: PASSWORD }) }),
    platform('POST /session', { who: 'nobody' }),
    platform('GET /session', { after: () => signedIn(PASSWORD), who: 'signed in' }),
    platform('POST /session/password', { who: 'signed in' }),
    platform('GET /sessions', { after: listed, who: 'signed in' }),
    platform('DELETE /sessions', { who: 'signed in' }),
    platform('DELETE /sessions/{session_id}', { after: listed, who: 'signed in' }),
    platform('DELETE /session', { after: () => signedIn(NEW_PASSWORD), who: 'signed in' }),
    platform('GET /orders/{order_id}/export', { after: proved }),
    platform('GET /audit/proof', { after: proved, query: () => `event=${ids.event_id}` }),
    // Now there is a limit.
    platform('PUT /tenant'),
  ];

  const documented = (method: string, path: string): DocumentedOperation | undefined =>
    schemas.document.paths[path]?.[method.toLowerCase()];

  async function ask(method: string, template: string, asked: Step): Promise<Answer> {
    const { at = {}, body, own, query, who } = asked;
    const named = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[at[name] ?? name] ?? at[name] ?? name);
    const path = query === undefined ? named : `${named}?${query()}`;
    const example = documented(method, template)?.requestBody?.content['application/json'].example;
    const sent = body === undefined ? example && { ...example, ...own?.() } : body();
    const options: RequestOptions = sent === undefined ? {} : { body: sent };
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
    const id = documented(method, path)?.operationId ?? '';
    const isJson = answer.headers['content-type']?.startsWith('application/json') === true;
    if (isJson && asked.body === undefined && !answers.has(id)) answers.set(id, answer.body);
  });

  it('these are all: other tables have the operations of dyn_party, or of dyn_order_line', () => {
    const others = /\/dyn_(?!party\/|order_line\/|stock_order\/)\w+\//;
    const all = operationsOf(schemas.document).map(({ method, path }) => `${method} ${path}`);
    expect(all.filter((operation) => !others.test(operation) && !done.has(operation))).toEqual([]);
  });

  it("and all of the operator's, at the host of their own", async () => {
    const operator = await Operator.of(service);
    for (const route of ['overview', 'history', 'jobs']) await operator.data(`/${route}`);
    // The service may have tenants of other tests.
    await operator.data('/tenants', { query: `search=${acme().name}` });
    await operator.data('/tenants/{tenant}', { at: acme().name });
    await operator.call('POST', '/tenants', { body: { name: `${acme().name}-2`, order_model: 'dyn_transport_order' } });
    await operator.data('/log', { query: `stream=tenant-${acme().name}&type=TenantCreated` });
    const verified = await operator.ended(await operator.begin({ kind: 'verify', tenant: acme().name }));
    expect(verified.reports.map(({ outcome }) => outcome)).toEqual(['equal']);
    await operator.call('DELETE', '/jobs/{id}', { at: await operator.begin({ kind: 'verify' }) });
    const ids = operationsOf(operator.document).map(({ operation }) => operation.operationId);
    expect([...operator.answers.keys()].sort()).toEqual([...ids].sort());
    for (const [id, body] of operator.answers) answers.set(id, body);
  });
  return answers;
}
