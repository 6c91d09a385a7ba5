/**
 * Tables as they were: over random histories with batches, clean-ups and undos, each moment shows what the table showed then,
 * and two moments differ in what differed.
 */
import fc from 'fast-check';
import { readConfig } from '#app/config.js';
import { MAX_PAST_TABLES_OF_TENANT, MAX_WAITING_PAST_TABLES, PAST_TABLE_ABANDONED_S } from '#app/domain/limits.js';
import { type PastTable, PastTableBuildingError, PastTablesBusyError } from '#app/ports/pastTables.js';
import { type OpenPastTables, openPastTables } from '#app/service/pastTables.js';
import { gate } from '../contract/recordingConsumer.js';
import { scaled } from '../engines/timeScale.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';
import { random, SEED } from './runs.js';
import { ALL, apply, type Shown, step, type Table, tableIn } from './tableSteps.js';

let inside: Inside;
let past: OpenPastTables;
let tenants = 0;
const noRoom = { free: Number.POSITIVE_INFINITY, reserve: 0 };
const open = (disk = noRoom, env: { readonly [name: string]: string } = {}, more: { readonly waitMs?: number } = {}) =>
  openPastTables(readConfig({ DATA_DIR: inside.directoryPath, ...env }), {
    ...more,
    disk,
    onFailure: (error) => {
      throw error;
    },
  });
beforeAll(async () => {
  inside = await openInside();
  past = await open();
});
afterAll(async () => {
  await past.close();
  await inside.close();
});

/** Asks until it is made. */
async function made<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof PastTableBuildingError)) throw error;
    }
  }
}

const differences = (before: Table, after: Table): Map<string, string> => {
  const values = ({ external_id, name, city_name }: Shown): string => JSON.stringify([external_id, name, city_name]);
  const found = new Map<string, string>();
  for (const [id, record] of after) {
    const was = before.get(id);
    if (was === undefined) found.set(id, 'created');
    else if (values(was) !== values(record)) found.set(id, 'changed');
  }
  for (const id of before.keys()) if (!after.has(id)) found.set(id, 'deleted');
  return found;
};

it(`shows at each moment what the table showed then, and between two what differs (seed ${SEED})`, async () => {
  const history = fc.tuple(fc.array(step, { minLength: 2, maxLength: 14 }), fc.infiniteStream(fc.nat()));
  await fc.assert(
    fc.asyncProperty(history, async ([steps, numbers]) => {
      tenants += 1;
      const tenant = `past${tenants}`;
      await openTenant(inside, tenant);
      const operations: string[] = [];
      const moments: { at: PastTable; shown: Table; time: string }[] = [];
      const note = async (): Promise<Table> => {
        await inside.caughtUp();
        const shown = await tableIn(inside.readModels, tenant);
        const position = await inside.eventStore.head();
        const at = { tenant, table: 'dyn_party', isReference: true, position };
        moments.push({ at, shown, time: inside.commands.now() });
        return shown;
      };
      let now = await note();
      for (const each of steps) {
        await apply(inside, tenant, each, now, operations);
        now = await note();
      }
      const pick = () => moments[(numbers.next().value ?? 0) % moments.length] as (typeof moments)[number];
      for (let n = 0; n < 3; n++) {
        const { at, shown, time } = pick();
        expect(await inside.eventStore.positionAt?.(time)).toBe(at.position);
        expect(await made(() => past.read(at, (reads) => tableIn(reads, tenant)))).toEqual(shown);
      }
      const [from, to] = [pick(), pick()].sort((a, b) => a.at.position - b.at.position);
      if (from === undefined || to === undefined) return;
      const found = await made(() =>
        past.compare(from.at, to.at, async ({ comparison }) => ({
          counts: comparison.counts,
          pages: [...comparison.page(0, 2), ...comparison.page(2, 1_000)],
        })),
      );
      const expected = differences(from.shown, to.shown);
      expect(new Map(found.pages.map(({ id, kind }) => [id, kind]))).toEqual(expected);
      const count = (kind: string) => [...expected.values()].filter((each) => each === kind).length;
      expect(found.counts).toEqual({
        created: count('created'),
        changed: count('changed'),
        deleted: count('deleted'),
      });
    }),
    random(4),
  );
});

describe('room for copies', () => {
  const at = async (): Promise<PastTable> => {
    await openTenant(inside, `past${++tenants}`);
    return {
      tenant: `past${tenants}`,
      table: 'dyn_party',
      isReference: true,
      position: await inside.eventStore.head(),
    };
  };
  const count = (tables: OpenPastTables, table: PastTable) =>
    made(() => tables.read(table, async (reads) => (await reads.list(table, ALL)).total));

  it('a short disk drops all copies that nobody reads, and lets none be made', async () => {
    const disk = { free: 1_000, reserve: 0 };
    const tables = await open(disk);
    const table = await at();
    expect(await count(tables, table)).toBe(0);
    expect(tables.counts.copies).toBe(1);
    disk.reserve = 900;
    tables.look();
    expect(tables.counts).toEqual({ copies: 0, bytes: 0 });
    await expect(count(tables, table)).rejects.toThrow('DISK_RESERVE');
    await tables.close();
  });

  it('a copy beyond the bytes of its tenant is given up', async () => {
    const small = await open(noRoom, { PAST_TABLES_BYTES: '1000' });
    await expect(count(small, await at())).rejects.toThrow('PAST_TABLES_BYTES');
    await small.close();
  });

  it('a tenant has so many copies at most: the one that was read longest ago makes room', async () => {
    const tables = await open();
    const table = await at();
    for (let n = 0; n < 20; n++)
      await made(() => tables.read({ ...table, position: table.position - n }, async () => n));
    expect(tables.counts.copies).toBe(MAX_PAST_TABLES_OF_TENANT);
    await tables.close();
  });

  it('while all copies of a tenant are read, a further one is refused, and nobody else', async () => {
    const tables = await open();
    const table = await at();
    const { held, release } = gate();
    const reads: Promise<void>[] = [];
    for (let n = 0; n < MAX_PAST_TABLES_OF_TENANT; n++) {
      const begun = gate();
      const work = (): Promise<void> => {
        begun.release();
        return held;
      };
      reads.push(made(() => tables.read({ ...table, position: table.position - n }, work)));
      await begun.held;
    }
    const further = { ...table, position: table.position - MAX_PAST_TABLES_OF_TENANT };
    await expect(tables.read(further, async () => 1)).rejects.toThrow(PastTablesBusyError);
    expect(await count(tables, await at())).toBe(0);
    release();
    await Promise.all(reads);
    expect(await count(tables, further)).toBe(0);
    await tables.close();
  });

  it('of copies that a tenant asks for at once one is made and some wait; the others are refused, and made later', async () => {
    const tables = await open(noRoom, {}, { waitMs: 0 });
    const table = await at();
    const asked = Array.from({ length: MAX_WAITING_PAST_TABLES + 2 }, (_, n) => ({
      ...table,
      position: table.position - n,
    }));
    const outcomes = await Promise.allSettled(asked.map((each) => tables.read(each, async () => each.position)));
    const refusals = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.name);
    expect(refusals).toEqual([
      ...Array.from({ length: MAX_WAITING_PAST_TABLES + 1 }, () => 'PastTableBuildingError'),
      'PastTablesBusyError',
    ]);
    for (const each of asked) expect(await count(tables, each)).toBe(0);
    await tables.close();
  });

  it('a copy that nobody asks for any more is not made any further; who asks later has it made again', async () => {
    const tables = await open(noRoom, {}, { waitMs: scaled(60_000) });
    const table = await at();
    const read = () => tables.read(table, async (reads) => (await reads.list(table, ALL)).total);
    const asked = read();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_000 * PAST_TABLE_ABANDONED_S);
    tables.look();
    clock.mockRestore();
    await expect(asked).rejects.toThrow('Nobody asked for the table as it was any more; ask again.');
    tables.look();
    expect(await made(read)).toBe(0);
    await tables.close();
  });
});
