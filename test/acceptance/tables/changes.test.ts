/** What has changed in a table since a cursor. */
import { z } from 'zod';
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order', cargo: 'dyn_transport_order' } });

const changesPage = z.strictObject({
  data: z.array(
    z.strictObject({
      id: z.uuid(),
      deleted: z.boolean(),
      record: z.looseObject({ id: z.string(), created_at: z.string(), updated_at: z.string() }).nullable(),
    }),
  ),
  links: z.strictObject({ next: z.url() }),
  meta: z.strictObject({ next_cursor: z.string(), has_more: z.boolean() }),
});
type ChangesPage = z.output<typeof changesPage>;

const ask = (table: string, query: Record<string, string> = {}) =>
  acme().send('GET', `${ASSETS}/${table}/changes`, { query });

async function changes(table: string, after?: string): Promise<ChangesPage> {
  const answer = await ask(table, after === undefined ? {} : { after });
  expect(answer).toMatchObject({ status: 200 });
  return changesPage.parse(answer.body);
}
const cursorNow = async (table: string) => (await changes(table)).meta.next_cursor;
const told = ({ data }: ChangesPage) =>
  data.map(({ id, deleted }) => `${id} ${deleted ? 'deleted' : 'changed'}`).sort();

describe('changes', () => {
  it('of records that are created, changed, deleted and brought back, each as it is now', async () => {
    const table = 'dyn_unit_code';
    const start = await changes(table);
    expect(start).toMatchObject({ data: [], meta: { has_more: false } });
    const after = start.meta.next_cursor;
    const one = await acme().create(table, { code: 'ONE', value: 'one' });
    await acme().batch(table, [
      { code: 'TWO', value: 'two', _batch_id: 'a' },
      { code: 'SIX', value: 'six', _batch_id: 'a' },
    ]);
    const changed = await acme().update(table, one.id, { value: 'uno' });
    const first = await changes(table, after);
    expect(first.data.find(({ id }) => id === one.id)).toEqual({ id: one.id, deleted: false, record: changed });
    expect(first.data).toHaveLength(3);
    expect(new URL(first.links.next).searchParams.get('after')).toBe(first.meta.next_cursor);
    expect(told(await changes(table, after))).toEqual(told(first));

    const cursor = first.meta.next_cursor;
    // Seen again, and nothing else.
    await acme().batch(table, [{ code: 'TWO', value: 'two', _batch_id: 'b' }]);
    const seen = await changes(table, cursor);
    expect(seen.data).toEqual([]);
    expect(seen.meta.next_cursor).not.toBe(cursor);
    const [six] = (await acme().list(table, 'filter[code][eq]=SIX')).data;
    const { deleted, operation_id: operation } = await acme().cleanUp(table, 'b');
    expect(deleted).toBe(2);
    const swept = await changes(table, seen.meta.next_cursor);
    expect(swept.data.filter(({ record }) => record === null)).toHaveLength(2);
    expect(told(swept)).toEqual([`${one.id} deleted`, `${six?.id} deleted`].sort());
    await acme().postUndo(table, String(operation));
    expect(told(await changes(table, swept.meta.next_cursor))).toEqual(
      told(swept).map((text) => text.replace('deleted', 'changed')),
    );
    // Who is behind gets all of it as it is now.
    expect((await changes(table, after)).data.every((change) => !change.deleted)).toBe(true);
  });

  it('of a key that came back with another id are told for each id that it had', async () => {
    const table = 'dyn_unit_code';
    const [first, second] = ['5f0c7a2e-31c5-4b8e-9d5f-0a1b2c3d4e51', '5f0c7a2e-31c5-4b8e-9d5f-0a1b2c3d4e52'];
    await acme().batch(table, [{ code: 'KEPT', value: 'kept', _batch_id: 'kept' }]);
    await acme().create(table, { id: first, code: 'KEY', value: 'one' });
    const after = await cursorNow(table);
    await acme().cleanUp(table, 'kept');
    await acme().create(table, { id: second, code: 'KEY', value: 'two' });
    await acme().cleanUp(table, 'kept');
    const page = told(await changes(table, after));
    expect(page).toEqual(expect.arrayContaining([`${first} deleted`, `${second} deleted`]));
  });

  it('of many come in pages', async () => {
    const after = await cursorNow('dyn_party');
    const parties = Array.from({ length: 1_200 }, (_, n) => ({
      external_id: `P${n}`,
      name: `Party ${n}`,
      _batch_id: 'p',
    }));
    await acme().batch('dyn_party', parties.slice(0, 1000));
    await acme().batch('dyn_party', parties.slice(1000));
    await acme().cleanUp('dyn_party', 'none of them', 1200);
    const pages: ChangesPage[] = [];
    for (let cursor = after; pages.at(-1)?.meta.has_more !== false; ) {
      const page = await changes('dyn_party', cursor);
      cursor = page.meta.next_cursor;
      pages.push(page);
    }
    // They are gone when they are told, each once.
    expect(pages.map(({ data }) => data.length)).toEqual([1000, 200]);
    expect(pages.flatMap(({ data }) => data).every(({ deleted }) => deleted)).toBe(true);
    expect(new Set(pages.flatMap(({ data }) => data.map(({ id }) => id))).size).toBe(1_200);
  });

  itOfRequests.each([
    ['of a list', async () => ({ after: String((await acme().export('dyn_item', { cursor: '' })).meta.next_cursor) })],
    ['that is none', async () => ({ after: 'x' })],
    ['by another name', async () => ({ cursor: '' })],
  ])('a cursor %s is 400', async (_what, query) => {
    const asked = await query();
    await expectRefused(service(), 400, () => ask('dyn_item', asked));
  });
});
