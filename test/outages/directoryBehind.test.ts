/** The log shows a process what it has written late: what is shown only once is shown all the same. */
import { z } from 'zod';
import type { Answer } from '../acceptance/http.js';
import { dataOf } from '../acceptance/people.js';
import { type Service, startService } from '../acceptance/service.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';

const LATE_MS = 30_000;
const shown = z.looseObject({});

let log: EventStoreDouble;
let service: Service;
const acme = () => service.tenant('acme');
const send = (method: string, path: string, body?: unknown): Promise<Answer> =>
  acme().platform(method, path, body === undefined ? {} : { body });

beforeAll(async () => {
  log = await EventStoreDouble.start();
  service = await startService({
    tenants: { acme: 'dyn_stock_order' },
    env: { EVENTSTORE_URL: log.url, REQUEST_TIMEOUT_MS: '60000', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
  });
});
afterAll(async () => {
  await service.dispose();
  await log.dispose();
});

const CLIENT = { name: 'ERP' };
const WEBHOOK = { url: 'https://127.0.0.1/hook' };
const USER = { email: 'eva@acme.example', first_name: 'Eva', last_name: 'Smit', roles: ['validator'] };
const TABLE = { name: 'dyn_carrier', fields: [{ name: 'external_id', type: 'String', required: true }] };
const RATE = { per_second: 50, burst: 100 };

it('an answer shows what its request has made, before the directory knows it', async () => {
  const made = async (path: string, body: unknown) => dataOf(shown, await send('POST', path, body));
  const [client, webhook, user] = [
    `/api-clients/${(await made('/api-clients', { name: 'Shop' })).client_id}`,
    `/webhooks/${(await made('/webhooks', WEBHOOK)).id}`,
    `/users/${(await made('/users', { ...USER, email: 'otto@acme.example' })).id}`,
  ];
  log.feedDelayMs = LATE_MS;
  const late: readonly (readonly [string, string, unknown, object])[] = [
    ['POST', '/api-clients', CLIENT, { name: 'ERP', client_secret: expect.stringMatching(/./) }],
    ['POST', `${client}/secret`, undefined, { client_secret: expect.stringMatching(/./) }],
    ['POST', `${client}/secret/rotate`, undefined, { client_secret: expect.any(String), rotation: expect.any(Object) }],
    ['POST', '/webhooks', WEBHOOK, { secret: expect.stringMatching(/^whsec_/) }],
    ['POST', `${webhook}/secret`, undefined, { secret: expect.stringMatching(/^whsec_/) }],
    ['POST', `${webhook}/secret/rotate`, undefined, { secret: expect.stringMatching(/^whsec_/), rotating: true }],
    ['PUT', webhook, { name: 'Hook' }, { name: 'Hook' }],
    ['POST', `${webhook}/disable`, {}, { enabled: false }],
    ['POST', '/users', USER, { email: USER.email, password: expect.stringMatching(/.{12}/) }],
    ['POST', `${user}/password`, undefined, { password: expect.stringMatching(/.{12}/), must_change_password: true }],
    ['PUT', user, { last_name: 'Bos' }, { last_name: 'Bos' }],
    ['POST', '/asset-types', TABLE, { name: TABLE.name }],
    ['PUT', '/tenant/rate-limit', RATE, { rate_limit: RATE }],
  ];
  const answers = await Promise.all(late.map(([method, path, body]) => send(method, path, body)));
  log.feedDelayMs = 0;
  expect(answers.map(({ body }) => body)).toEqual(late.map((each) => ({ data: expect.objectContaining(each[3]) })));
});
