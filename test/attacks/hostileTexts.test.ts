/** Texts that no engine keeps as they are: each is refused by the path of its field, wherever it stands, and nothing is written. */
import { expectErrorBody, fieldErrors } from '../acceptance/refusals.js';
import { ASSETS, PLATFORM } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

const HOSTILE = ['a\0b', 'a\ud800', '\udc00\ud800b'];
const REASON = 'well-formed Unicode text without NUL characters';

const ITEMS = `${ASSETS}/dyn_item/assets`;
const ITEM = { external_id: 'H', name: 'Tea' };
const WEBHOOK = { url: 'https://127.0.0.1:9/' };
const USER = { email: 'eva@example.com', password: 'a long enough password', roles: ['validator'] };

/** Where a text stands: the path of a POST, its body, and how its error is named. */
const PLACES: readonly (readonly [path: string, body: (text: string) => object, named: (text: string) => string])[] = [
  [ITEMS, (text) => ({ ...ITEM, name: text }), () => 'name'],
  [ITEMS, (text) => ({ ...ITEM, external_id: text }), () => 'external_id'],
  [`${ITEMS}/batch`, (text) => ({ items: [ITEM, { ...ITEM, _batch_id: text }] }), () => 'items.1._batch_id'],
  [`${ASSETS}/dyn_stock_order/assets`, (text) => ({ notes: text }), () => 'notes'],
  [`${ASSETS}/dyn_stock_order/assets`, (text) => ({ lines: [{ description: text }] }), () => 'lines.0.description'],
  [`${ASSETS}/dyn_stock_order/assets`, (text) => ({ error_reason: ['x', text] }), () => 'error_reason'],
  [`${PLATFORM}/users`, (text) => ({ ...USER, first_name: text, last_name: 'S' }), () => 'first_name'],
  [`${PLATFORM}/webhooks`, (text) => ({ ...WEBHOOK, name: text }), () => 'name'],
  [`${PLATFORM}/webhooks`, (text) => ({ ...WEBHOOK, custom_data: { a: [0, { b: text }] } }), () => 'custom_data.a.1.b'],
  [`${PLATFORM}/webhooks`, (text) => ({ ...WEBHOOK, custom_data: { [text]: 1 } }), (text) => `custom_data.${text}`],
  [`${PLATFORM}/asset-types/dyn_item/fields`, (text) => ({ name: 'f', type: 'String', label: text }), () => 'label'],
];

it.each(PLACES)('POST %s %s', async (path, body, named) => {
  const token = path.startsWith(PLATFORM) ? await acme().signIn() : await acme().token();
  const before = await service().logHead();
  for (const text of HOSTILE) {
    const answer = await acme().send('POST', path, { body: body(text), token });
    expect(answer.status).toBe(422);
    expectErrorBody(answer);
    expect(JSON.stringify(answer.body)).not.toMatch(/\\ud[89a-f]/);
    expect(fieldErrors(answer).get(named(text).toWellFormed())).toEqual([expect.stringContaining(REASON)]);
  }
  expect(await service().logHead()).toBe(before);
});
