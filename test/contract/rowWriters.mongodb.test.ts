/** Several processes that write rows into one MongoDB, and what is cut, late or refused there. */
import { setTimeout as wait } from 'node:timers/promises';
import { Collection, MongoBulkWriteError, MongoClient } from 'mongodb';
import { MongoConnection } from '#app/adapters/rows/mongodb/connection.js';
import { openMongoRowReads } from '#app/adapters/rows/mongodb/reads.js';
import { SHARES, Shares, shareOf } from '#app/adapters/rows/mongodb/shares.js';
import { openMongoRowWriter } from '#app/adapters/rows/mongodb/writer.js';
import {
  copyOf,
  type RowReads,
  RowRefusedError,
  RowsUnavailableError,
  type RowWrite,
  type RowWriter,
  type StoredRow,
} from '#app/ports/rowStore.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { TcpProxy } from '../engines/tcpProxy.js';
import { MemoryRows } from '../support/memoryRows.js';
import { SPACES, sliceBehind } from '../support/rowHistory.js';
import { places, Tenant } from './rowStoreFixture.js';

const TENANTS = ['acme', 'bolt'];
const END = 60;
const GONE_AFTER_MS = 1_000;

/** A process that follows its share of the tenants, and whose connections can be cut off or frozen. */
class Follower {
  static #count = 0;
  readonly #ending = new AbortController();
  #running = Promise.resolve();

  private constructor(
    readonly proxy: TcpProxy,
    readonly shares: Shares,
    readonly writer: RowWriter,
    readonly number: number,
  ) {}

  static async start(url: string): Promise<Follower> {
    Follower.#count += 1;
    const proxy = await TcpProxy.start(Number(new URL(url).port));
    const through = new URL(url);
    through.port = String(proxy.port);
    const shares = new Shares({ url: through.href, owner: `process ${Follower.#count}`, goneAfterMs: GONE_AFTER_MS });
    await shares.start();
    const writer = openMongoRowWriter({ url: through.href, held: () => shares.held() });
    const follower = new Follower(proxy, shares, writer, Follower.#count);
    follower.#running = follower.#run();
    return follower;
  }

  async #run(): Promise<void> {
    for (let turn = this.number; !this.#ending.signal.aborted; turn += 1) {
      const tenant = TENANTS[turn % TENANTS.length] ?? '';
      try {
        if (this.shares.held().includes(shareOf(tenant))) await this.#turn(tenant, 1 + ((turn * 5) % 6));
        else await wait(1);
      } catch (error) {
        // As the follower: it begins again from what is stored.
        if (!(error instanceof RowsUnavailableError)) throw error;
        await wait(5);
      }
    }
  }

  async #turn(tenant: string, most: number): Promise<void> {
    const { position = 0 } = (await this.writer.progress(tenant)) ?? {};
    if (position >= END) return;
    const slice = await sliceBehind(position, Math.min(position + most, END), tenant, this.writer);
    while (!(await this.writer.apply(tenant, { ...slice, after: position })));
  }

  /** As a crash does it: what was sent goes on at the server, and nothing is released. */
  async kill(): Promise<void> {
    this.#ending.abort();
    await this.proxy.dispose();
    await Promise.all([this.#running, this.shares.close(), this.writer.close()]);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    await Promise.all([this.shares.close(), this.writer.close()]);
    await this.proxy.dispose();
  }
}

const everything = {
  conditions: [],
  sort: [{ field: 'n', direction: 'asc' }],
  offset: 0,
  limit: 1_000,
  withTotal: true,
  maxCharacters: 1e9,
} as const;

/**
 * All states, and some pages of the past. Batch ids of the past are left out: they move at once, so that where a commit was cut
 * a state may have ended with the next one.
 */
async function shown(reads: RowReads, tenant: string): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (const space of SPACES) {
    for (const at of space === 'places' ? [undefined, 17, END / 2] : [undefined]) {
      const { rows, total, state } = await reads.page({ tenant, space }, { ...everything, at });
      const { changed: _, ...known } = state;
      all.push({ space, at, rows: at === undefined ? rows : rows.map(withoutBatch), total, known });
    }
    const ended = { ended: [0, END], limit: 10_000 } as const;
    all.push((await reads.versions({ tenant, space }, ended)).versions.map(withoutBatch));
  }
  return all;
}

const withoutBatch = ({ batch: _, ...state }: StoredRow): Omit<StoredRow, 'batch'> => state;

describeEngine('mongodb', 'processes that write rows into one MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let model: MemoryRows;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
    model = new MemoryRows();
    for (const tenant of TENANTS)
      for (let position = 0; position < END; position += 1)
        await model.apply(tenant, await sliceBehind(position, position + 1, tenant, model));
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  test('nothing is lost or doubled when they are killed, frozen and late', async () => {
    const url = mongoDb.freshUrl();
    const reads = openMongoRowReads({ url });
    const sum = async () => {
      const all = await Promise.all(TENANTS.map((tenant) => reads.progress(tenant)));
      return all.reduce((total, progress) => total + (progress?.position ?? 0), 0);
    };
    const two = [await Follower.start(url), await Follower.start(url)];
    let [kills, last] = [0, 0];
    for (let now = 0; now < END * TENANTS.length; now = await sum()) {
      if (now - last < 8) {
        await wait(3);
        continue;
      }
      last = now;
      kills += 1;
      const follower = two[kills % 2];
      if (follower === undefined) continue;
      if (kills % 3 === 0) {
        // It has lost its shares by the time at which what it sent arrives.
        follower.proxy.freeze(true);
        await wait(2 * GONE_AFTER_MS);
        follower.proxy.freeze(false);
      } else {
        await follower.kill();
        two[kills % 2] = await Follower.start(url);
      }
    }
    await Promise.all(two.map((each) => each.stop()));
    expect(kills).toBeGreaterThan(3);
    for (const tenant of TENANTS) expect(await shown(reads, tenant)).toEqual(await shown(model.reads, tenant));
    await reads.close();
  });

  test('share the tenants, and take over what another leaves or does not renew', async () => {
    const url = mongoDb.freshUrl();
    const open = async (owner: string) => {
      const shares = new Shares({ url, owner, goneAfterMs: GONE_AFTER_MS });
      await shares.start();
      return shares;
    };
    const until = async (condition: () => boolean) => {
      while (!condition()) await wait(5);
    };
    const one = await open('one');
    expect(one.held()).toHaveLength(SHARES);
    const two = await open('two');
    await until(() => one.held().length === SHARES / 2 && two.held().length === SHARES / 2);
    expect([...one.held(), ...two.held()].toSorted((a, b) => a - b)).toEqual([...Array(SHARES).keys()]);
    await one.close();
    expect(one.held()).toEqual([]);
    await until(() => two.held().length === SHARES);
    await two.close();
  });

  test('one that is late stores nothing where the next one has', async () => {
    const url = mongoDb.freshUrl();
    const [late, next, reads] = [openMongoRowWriter({ url }), openMongoRowWriter({ url }), openMongoRowReads({ url })];
    await late.apply('acme', await sliceBehind(0, 3, 'acme', late));
    const slice = { ...(await sliceBehind(3, 6, 'acme', late)), after: 3 };
    await next.apply('acme', await sliceBehind(3, 4, 'acme', next));
    await expect(late.apply('acme', slice)).rejects.toThrow(RowsUnavailableError);
    expect(await next.progress('acme')).toMatchObject({ position: 4 });
    const byPosition = new MemoryRows();
    for (let position = 0; position < 6; position += 1) {
      await byPosition.apply('acme', await sliceBehind(position, position + 1, 'acme', byPosition));
      if (position >= 4) await next.apply('acme', await sliceBehind(position, position + 1, 'acme', next));
    }
    expect(await shown(reads, 'acme')).toEqual(await shown(byPosition.reads, 'acme'));
    await Promise.all([late, next, reads].map((each) => each.close()));
  });

  test('one that is late puts no copy in the place of rows that the next one has made further', async () => {
    const url = mongoDb.freshUrl();
    const [late, next] = [openMongoRowWriter({ url }), openMongoRowWriter({ url })];
    await late.apply('acme', await sliceBehind(0, 3, 'acme', late));
    const copy = copyOf('acme');
    await late.apply(copy, await sliceBehind(0, 3, copy, late));
    await next.apply('acme', await sliceBehind(3, 6, 'acme', next));
    await expect(late.swap('acme')).rejects.toThrow(RowsUnavailableError);
    expect(await next.progress('acme')).toMatchObject({ position: 6 });
    await Promise.all([late, next].map((each) => each.close()));
  });

  test('what has ended leaves the lists, and what is replaced or of a former copy is removed', async () => {
    const url = mongoDb.freshUrl();
    const fill = async (tenant: string, atOnce: number) => {
      for (let position = 0; position < END; ) {
        const slice = await sliceBehind(position, Math.min(position + atOnce, END), tenant, writer);
        while (!(await writer.apply(tenant, slice)));
        ({ position } = slice);
      }
    };
    const client = await MongoClient.connect(url);
    const states = client.db().collection('rows');
    const isSwept = async () =>
      (await states.distinct('s')).length === SPACES.length &&
      (await states.countDocuments({ h: { $in: ['replaced', 'forgotten'] } })) === 0 &&
      (await states.countDocuments({ o: 1, h: { $ne: 'present' } })) === 0;
    const reads = openMongoRowReads({ url });
    const writer = openMongoRowWriter({ url, sweepEveryMs: 20 });
    await fill('acme', 5);
    while (!(await isSwept())) await wait(20);
    expect(await shown(reads, 'acme')).toEqual(await shown(model.reads, 'acme'));
    await fill(copyOf('acme'), 20);
    await writer.swap('acme');
    expect(await shown(reads, 'acme')).toEqual(await shown(model.reads, 'acme'));
    while (!(await isSwept())) await wait(20);
    expect(await shown(reads, 'acme')).toEqual(await shown(model.reads, 'acme'));
    await Promise.all([writer, reads, client].map((each) => each.close()));
  });

  test('the indexes are there, also on a server that has no partial ones', async () => {
    const url = mongoDb.freshUrl();
    const [writer, client] = [openMongoRowWriter({ url }), await MongoClient.connect(url)];
    await writer.mark('acme', 'filling');
    const indexes = await client.db().collection('rows').indexes();
    const keys = indexes.map(({ key }) => Object.keys(key).join(' '));
    expect(keys.toSorted()).toEqual(['_id', 's f n', 's i f', 's k t', 's o b', 's o n', 's t n']);
    await Promise.all([writer.close(), client.close()]);
  });

  test('a row that is too large is refused, and nothing of its slice is shown', async () => {
    const url = mongoDb.freshUrl();
    const store = { writer: openMongoRowWriter({ url }), reads: openMongoRowReads({ url }) };
    const acme = new Tenant(store, 'acme');
    await acme.apply({ kind: 'define', assetType: places });
    const [small, large] = [acme.row({ code: 'a' }), acme.row({ code: 'b', notes: 'x'.repeat(17_000_000) })];
    const named = `MongoDB refuses row ${large.id} of "places": `;
    const refused = expect.objectContaining({ constructor: RowRefusedError, message: expect.stringContaining(named) });
    await expect(acme.apply(acme.put(small), acme.put(large))).rejects.toEqual(refused);
    // As a server that finds fault with one of them.
    const writeErrors = { index: 1, code: 121, errmsg: 'Document failed validation' };
    const fault = Object.assign(Object.create(MongoBulkWriteError.prototype), { writeErrors });
    jest.spyOn(Collection.prototype, 'insertMany').mockRejectedValueOnce(fault);
    await expect(acme.apply(acme.put(small), acme.put(large))).rejects.toEqual(refused);
    expect(await acme.ids({})).toEqual([]);
    await Promise.all([store.writer.close(), store.reads.close()]);
  });

  test('batch ids are moved by shorter slices where a longer one has ended before it moved all', async () => {
    const url = mongoDb.freshUrl();
    const store = { writer: openMongoRowWriter({ url }), reads: openMongoRowReads({ url }) };
    const acme = new Tenant(store, 'acme');
    await acme.apply({ kind: 'define', assetType: places });
    const kept = acme.row({ code: 'a', name: 'Ann' });
    const large = { ...acme.row({ code: 'b', notes: 'x'.repeat(17_000_000) }), from: 6 };
    const touch = (batch: string): RowWrite => ({ kind: 'touch', space: 'places', ids: [kept.id], batch });
    const redact: RowWrite = { kind: 'redact', space: 'places', id: kept.id, fields: { name: 'nobody' } };
    const writes = [acme.put(kept), touch('one'), redact, touch('two')];
    const longer = store.writer.apply('acme', { writes: [...writes, acme.put(large)], position: 6 });
    await expect(longer).rejects.toThrow(RowRefusedError);
    for (const write of writes) await acme.apply(write);
    await acme.apply();
    await acme.apply({ kind: 'cleanUp', space: 'places', batch: 'two', to: 7 });
    expect(await acme.ids({})).toEqual([kept.id]);
    await Promise.all([store.writer.close(), store.reads.close()]);
  });

  test('a connection that is lost while rows are inserted is an outage', async () => {
    const url = new URL(mongoDb.freshUrl());
    const proxy = await TcpProxy.start(Number(url.port));
    url.port = String(proxy.port);
    const connection = new MongoConnection(url.href);
    const insert = connection.run(async ({ definitions }) => {
      await definitions.findOne({});
      await proxy.dispose();
      await definitions.insertMany([{ _id: 'one', assetType: '{}', slots: [] }]);
    });
    await expect(insert).rejects.toThrow(RowsUnavailableError);
    await connection.close();
  });
});
