/** The past of a table beside a naive model: a copy of all rows at each position of a random history. */
import fc from 'fast-check';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import type { Row } from '#app/domain/spaces.js';
import {
  type ChangesPage,
  changeOf,
  changesAfter,
  historyOf,
  type Transition,
  transitionsIn,
} from '#app/queries/past.js';
import { places, Tenant } from '../../contract/rowStoreFixture.js';
import { random } from '../../property/runs.js';
import { MemoryRows } from '../../support/memoryRows.js';

const IDS = Array.from({ length: 8 }, (_, n) => `00000000-0000-7000-8000-00000000000${n}`);

type Snapshot = ReadonlyMap<string, Fields>;

/** Each event changes some of the rows: one that has no fields is deleted. */
const events = fc.array(
  fc.uniqueArray(
    fc.record({
      id: fc.constantFrom(...IDS),
      fields: fc.option(
        fc.record({ name: fc.constantFrom('a', 'b'), size: fc.constantFrom(1, 2) }, { requiredKeys: [] }),
      ),
    }),
    { minLength: 1, maxLength: 5, selector: ({ id }) => id },
  ),
  { minLength: 1, maxLength: 60 },
);

type Events = typeof events extends fc.Arbitrary<infer Value> ? Value : never;

/** @returns the rows as they were at each position; position 1 defines the table */
async function happened(all: Events) {
  const store = new MemoryRows();
  const tenant = new Tenant({ writer: store, reads: store.reads }, 'acme');
  await tenant.apply({ kind: 'define', assetType: places });
  const snapshots: Snapshot[] = [new Map(), new Map()];
  const present = new Map<string, Row>();
  for (const changes of all) {
    const at = new Map(snapshots.at(-1));
    const writes = changes.flatMap(({ id, fields }) => {
      const was = present.get(id);
      if (fields === null) {
        present.delete(id);
        at.delete(id);
        return was === undefined ? [] : [{ kind: 'delete' as const, space: 'places', was, to: tenant.position + 1 }];
      }
      const set = { code: id, ...fields };
      if (was !== undefined && JSON.stringify(was.fields) === JSON.stringify(set)) return [];
      const row = { ...tenant.row(set, { id }), ...(was && { created: was.created }) };
      present.set(id, row);
      at.set(id, set);
      return [tenant.put(row, was)];
    });
    await tenant.apply(...writes);
    snapshots.push(at);
  }
  return { rows: store.reads, space: tenant.places, snapshots, last: tenant.position };
}

const differs = (a: Fields | undefined, b: Fields | undefined): boolean =>
  JSON.stringify(Object.entries(a ?? {}).sort()) !== JSON.stringify(Object.entries(b ?? {}).sort());

function differencesOf(was: Snapshot, is: Snapshot) {
  return IDS.filter((id) => differs(was.get(id), is.get(id)));
}

const collected = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
};

it('the history of a row has each change of it, the newest first, also when it is read from the middle', async () => {
  await fc.assert(
    fc.asyncProperty(events, fc.constantFrom(...IDS), fc.nat(), async (all, id, start) => {
      const { rows, space, snapshots, last } = await happened(all);
      const changes = snapshots.flatMap((is, position) => {
        const was = snapshots[position - 1]?.get(id);
        return differs(was, is.get(id)) ? [{ position, was, is: is.get(id) }] : [];
      });
      const until = start % (last + 1);
      for (const before of [undefined, until, changes.at(-1)?.position]) {
        const shown = await collected(historyOf(rows, space, { id, until: before, limit: 2 }));
        const expected = changes.filter(({ position }) => position < (before ?? Infinity)).reverse();
        expect(shown.map(({ place: [position] }) => position)).toEqual(expected.map(({ position }) => position));
        for (const [at, transition] of shown.entries()) {
          const { fields } = changeOf(transition);
          for (const name of ['code', 'name', 'size']) {
            const [from, to] = [expected[at]?.was?.[name] ?? null, expected[at]?.is?.[name] ?? null];
            expect(fields[name]).toEqual(from === to ? undefined : { from, to });
          }
        }
      }
    }),
    random(40),
  );
});

it('a copy that follows the changes, page by page, comes to what the table is', async () => {
  await fc.assert(
    fc.asyncProperty(events, fc.nat(), fc.integer({ min: 1, max: 3 }), async (all, start, limit) => {
      const { rows, space, snapshots, last } = await happened(all);
      const from = start % (last + 1);
      const copy = new Map(snapshots[from]);
      let page: ChangesPage = { changed: [], next: [from, null], hasMore: true };
      while (page.hasMore) {
        page = await changesAfter(rows, space, page.next, limit);
        expect(new Set(page.changed.map(([id]) => id)).size).toBe(page.changed.length);
        for (const [id, row] of page.changed) {
          if (row === undefined) copy.delete(id);
          else copy.set(id, JSON.parse(row.data));
        }
      }
      const is = snapshots.at(-1) ?? new Map();
      expect(differencesOf(copy, is)).toEqual([]);
      expect((await changesAfter(rows, space, page.next)).changed).toEqual([]);
    }),
    random(60),
  );
});

it('what one event did can be read on from any row of it', async () => {
  const store = new MemoryRows();
  const tenant = new Tenant({ writer: store, reads: store.reads }, 'acme');
  await tenant.apply({ kind: 'define', assetType: places });
  const [a, b] = await tenant.fill({ code: 'a' }, { code: 'b', name: 'B' });
  const changed = { ...a, from: tenant.position + 1, fields: { code: 'a', name: 'A' } };
  await tenant.apply(
    tenant.put(changed, a),
    { kind: 'delete', space: 'places', was: b, to: tenant.position + 1 },
    tenant.put(tenant.row({ code: 'c' })),
  );
  const range = [tenant.position - 1, tenant.position] as const;
  const doneBehind = (behind: Transition['place'] | undefined) =>
    collected(transitionsIn(store.reads, tenant.places, { range, behind, limit: 2 }));
  const done = await doneBehind(undefined);
  const changes = done.map((transition) => changeOf(transition));
  expect(changes).toMatchObject([
    { change: 'update', id: a.id, fields: { name: { from: null, to: 'A' } } },
    { change: 'delete', id: b.id, fields: { code: { from: 'b', to: null }, name: { from: 'B', to: null } } },
    { change: 'create', fields: { code: { from: null, to: 'c' } } },
  ]);
  for (const [at, { place }] of done.entries()) expect(await doneBehind(place)).toEqual(done.slice(at + 1));
});
