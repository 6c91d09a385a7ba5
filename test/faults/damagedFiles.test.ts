/**
 * Damaged databases of the embedded engines. Files that are derived from the log are filled again, and no answer
 * meanwhile shows less than there is. The log itself is never touched: the operator is told which file it is, and what to do.
 */
import { existsSync } from 'node:fs';
import { cp, mkdtemp, open, readdir, readFile, readlink, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { checkpointed } from '../acceptance/operator.js';
import { Service } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';
import { seeded } from './seeded.js';

const TENANTS = ['acme', 'globex'] as const;
const ITEMS = 500;
const PAGE = 4_096;

let made: string;
let known: readonly ConstructorParameters<typeof TenantClient>[1][];
let dataDir: string;
let service: Service;

const client = (index: 0 | 1): TenantClient => {
  const about = known[index];
  if (about === undefined) throw new Error('The tenant was not made.');
  return new TenantClient(service, about, 'dyn_stock_order');
};
const at = (name: string): string => join(dataDir, name);

beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'damaged-'));
  service = new Service(made, {});
  known = [];
  for (const tenant of TENANTS) {
    const { admin, client: of } = await service.createTenant(tenant, 'dyn_stock_order');
    known = [...known, { tenant, admin, client: of }];
  }
  await service.start();
  for (const index of [0, 1] as const) {
    const items = Array.from({ length: ITEMS }, (_, n) => ({
      external_id: `I${n}`,
      name: `Item ${n}`,
      description: 'x'.repeat(50 + (n % 400)),
    }));
    await client(index).batch('dyn_item', items);
    for (let n = 0; n < 5; n++) await client(index).create('dyn_stock_order', { notes: `order ${n}` });
  }
  await service.stop();
  // All pages go from the write-ahead logs into the files.
  for (const tenant of TENANTS) {
    const db = openSqlite(join(made, `rows/${tenant}.db`));
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
  }
});
/** No checkpoint is signed from time to time: that writes the tiles at the tree's edge, and so mends them. */
const serviceHere = () => new Service(dataDir, { CHECKPOINT_MINUTES: '0' });

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'damaged-'));
  await cp(made, dataDir, { recursive: true, verbatimSymlinks: true });
  service = serviceHere();
});
afterEach(async () => {
  await service.kill();
  await rm(dataDir, { recursive: true, force: true });
});
afterAll(() => rm(made, { recursive: true, force: true }));

/** Random bytes of a seed in place of those that are there. */
async function overwrite(file: string, offset: number, length: number, seed = 1): Promise<void> {
  const random = seeded(seed);
  const handle = await open(file, 'r+');
  await handle.write(Buffer.from(Array.from({ length }, () => Math.floor(random() * 256))), 0, length, offset);
  await handle.close();
}

const ACME = 'rows/acme.db';
/** Of a link that may lead to nothing for a moment. */
const rowsOfAcme = async (): Promise<string> => at(join('rows', await readlink(at(ACME))));

/** @returns whether it is answered at all. @throws where it shows less than there is, or something else */
async function isRight(tenant: TenantClient, more = 0): Promise<boolean> {
  const answers = [
    await tenant.getList('dyn_item', 'sort=-external_id&perPage=1000'),
    await tenant.getList('dyn_item', 'filter[name]=Item%207&perPage=1000'),
    await tenant.getList('dyn_stock_order', 'sort=created_at'),
  ];
  const isServed = answers.map(({ status }) => {
    expect([200, 503]).toContain(status);
    return status === 200;
  });
  const totals = answers.map(({ body }) => (body as { meta?: { total: number } }).meta?.total);
  // 7 and 70 to 79.
  for (const [index, total] of [ITEMS + more, 11, 5].entries()) if (isServed[index]) expect(totals[index]).toBe(total);
  return isServed.every((each) => each);
}

async function untilRight(tenant: TenantClient, more = 0): Promise<void> {
  while (!(await isRight(tenant, more))) await wait(20);
}

async function allRight(): Promise<void> {
  for (const index of [0, 1] as const) await untilRight(client(index));
}

const proven = async (): Promise<void> =>
  expect(await service.cli('projections', 'verify')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('equal'),
  });

type Damages = readonly (readonly [what: string, damage: (file: string) => Promise<void>])[];

const DAMAGES: Damages = [
  ['an overwritten first page', (file) => overwrite(file, 0, PAGE)],
  ['cut within a page', async (file) => truncate(file, Math.floor((await stat(file)).size / 3) + 777)],
  ['another kind of file', (file) => writeFile(file, 'PK\u0003\u0004 no database at all')],
];
const OF_ROWS: Damages = [...DAMAGES, ['empty', (file) => truncate(file, 0)], ['gone', (file) => rm(file)]];

/** Nobody else waits while a tenant's rows are made again. */
async function untilRightBesideOthers(): Promise<void> {
  await untilRight(client(1));
  for (let isRightNow = false; !isRightNow; isRightNow = await isRight(client(0))) {
    expect(await isRight(client(1))).toBe(true);
    await wait(10);
  }
}

describe('rows that are damaged before the start', () => {
  it('are filled again, each time, while all others are served', async () => {
    for (const [what, damage] of OF_ROWS) {
      await damage(await rowsOfAcme());
      await service.start();
      await untilRightBesideOthers();
      const told = service.loggedErrors.map((line) => JSON.parse(line));
      expect([what, told.length]).toEqual([what, 1]);
      expect(told[0]).toMatchObject({ tenant: 'acme' });
      await service.stop();
      service = serviceHere();
    }
    await service.start();
    await proven();
  });

  it('a damaged list of how far tenants are is made again', async () => {
    await overwrite(at('rows/follower.json'), 0, PAGE);
    await service.start();
    await allRight();
    await proven();
  });
});

describe('rows that are damaged while the service runs', () => {
  it('are filled again without a restart, and no answer of any tenant is wrong meanwhile', async () => {
    await service.start();
    const [hit, other] = [client(0), client(1)];
    await untilRight(hit);
    const file = await rowsOfAcme();
    const { size } = await stat(file);
    await overwrite(file, 2 * PAGE, size - 2 * PAGE);
    const { status } = await hit.postRecord('dyn_item', { external_id: 'new', name: 'New' });
    // It may have met the damage itself; then nothing was written.
    const more = status === 201 ? 1 : 0;
    while (!(await isRight(hit, more)) || (await rowsOfAcme()) === file) {
      expect(await isRight(other)).toBe(true);
      await wait(10);
    }
    await service.becomesReady();
    const told = service.loggedErrors.filter((line) => line.includes('new ones are filled'));
    expect(told).toHaveLength(1);
    // A thread that still had the file open may follow to the new one only now: 503 until that is filled.
    const create = () => hit.postRecord('dyn_item', { external_id: 'later', name: 'Later' });
    let answer = await create();
    for (; answer.status === 503; answer = await create()) await wait(10);
    expect(answer.status).toBe(201);
    expect((await hit.list('dyn_item', 'filter[external_id][eq]=later')).meta.total).toBe(1);
    await proven();
  });
});

describe('rows of another release', () => {
  it('are filled from the log; every answer is right or 503, and all are right soon', async () => {
    // What the other release has is not looked at.
    const db = openSqlite(await rowsOfAcme());
    db.exec('DROP TABLE spaces');
    db.pragma('user_version = 99');
    db.close();
    await writeFile(at('rows/follower.json'), '{"layout":99}');
    await service.start();
    await allRight();
    await service.becomesReady();
    await proven();
    await service.restart('stop');
    expect(await isRight(client(0))).toBe(true);
  });
});

describe('a damaged event log', () => {
  const sentence = (): RegExp =>
    new RegExp(
      `The event log ${at('events.db')} is damaged \\(.+\\): stop the service, .*dynamic-assets restore.*dynamic-assets doctor`,
    );

  it('ends the start with one sentence that names it and the way back, and is left as it is', async () => {
    const whole = await readFile(at('events.db'));
    for (const [what, damage] of DAMAGES) {
      service = serviceHere();
      await writeFile(at('events.db'), whole);
      await damage(at('events.db'));
      const before = await readFile(at('events.db'));
      await expect(service.start()).rejects.toThrow('ended (code 1, signal null) before it listened');
      expect([what, ...service.log.trim().split('\n')]).toEqual([what, expect.stringMatching(sentence())]);
      expect((await readFile(at('events.db'))).equals(before)).toBe(true);
    }
    const found = await service.cli('doctor');
    expect(found).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/PROBLEM {2}event log: .*\n.*restore a backup/),
    });
  });

  it('while the service runs: changes are 503, readiness names the file, and a backup brings all back', async () => {
    await service.start();
    await untilRight(client(0));
    await service.cli('backup', 'backup');
    await overwrite(at('events.db'), 0, (await stat(at('events.db'))).size);
    let status = 0;
    for (let n = 0; status !== 503; n++)
      ({ status } = await client(0).postRecord('dyn_stock_order', { notes: `damaged ${n}` }));
    let report = '';
    while (!report.includes('events.db')) {
      ({ text: report } = await service.readiness());
      await wait(20);
    }
    expect(JSON.parse(report)).toMatchObject({ ready: false, checks: { event_store: { ok: false } } });
    await service.kill();
    expect(await service.cli('restore', 'backup', '--replace')).toMatchObject({ code: 0 });
    await service.start();
    await untilRight(client(0));
  });
});

describe('other files', () => {
  it('that are made from the log are made again', async () => {
    for (const from of [0, PAGE]) {
      for (const name of ['broker.db', 'directory.jsonl']) {
        const { size } = await stat(at(name));
        const start = Math.min(from, size >> 1);
        await overwrite(at(name), start, from === 0 ? 100 : size - start);
      }
      await service.start();
      expect(await isRight(client(0))).toBe(true);
      await service.becomesReady();
      await service.stop();
      expect((await service.cli('doctor')).code).toBe(0);
    }
  });

  it('tiles of the tree over the log are made again while it runs: no proof says meanwhile that there is no such event', async () => {
    await service.start();
    // A full tile; proofs need no others of the files.
    await Promise.all(Array.from({ length: 260 }, () => client(1).create('dyn_stock_order', {})));
    const made = { kind: 'tenant.created', limit: '1' };
    const { body } = await client(0).platform('GET', `/activity?${new URLSearchParams(made)}`);
    const [{ event_id: id }] = z.object({ data: z.tuple([z.looseObject({ event_id: z.string() })]) }).parse(body).data;
    const prove = () => client(0).platform('GET', `/audit/proof?event=${id}`);
    await checkpointed(service, prove);
    const tiles = (await readdir(at('audit'), { recursive: true, withFileTypes: true })).filter(
      (each) => each.isFile() && each.parentPath.includes('/tile/'),
    );
    for (const { parentPath, name } of tiles) await truncate(join(parentPath, name), 1);
    // What the tree has not stored yet when it is found damaged.
    await client(0).create('dyn_stock_order', { notes: 'the last' });
    let status = (await prove()).status;
    for (; status !== 200; status = (await prove()).status) {
      expect(status).toBe(503);
      await wait(10);
    }
    // Those that came while the thread started have not stopped it.
    const stops = service.log.split('\n').filter((line) => line.includes('the tree over the event log stands still'));
    expect(stops).toEqual([expect.stringContaining('is damaged')]);
  });

  it('a damaged keys/secrets.key ends the start with a sentence that names it', async () => {
    const name = 'keys/secrets.key';
    if (!existsSync(at(name))) throw new Error(`${name} is not there.`);
    await writeFile(at(name), 'damaged');
    await expect(service.start()).rejects.toThrow('ended (code 1, signal null) before it listened');
    const said = service.log.trim().split('\n').at(-1);
    expect(said).toContain(at(name));
    expect(said).toContain('put it back from a backup');
  });
});
