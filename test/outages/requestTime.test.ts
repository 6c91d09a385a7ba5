/**
 * No request takes longer than REQUEST_TIMEOUT_MS, whatever it waits for, and each 503 says whether it may have
 * written.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import type { Answer } from '../acceptance/http.js';
import { type Service, startService } from '../acceptance/service.js';
import { ASSETS } from '../acceptance/tenant.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { scaled } from '../engines/timeScale.js';

/** The least that the setting takes. */
const LIMIT_MS = 4_000;
/** Margin for the machine. */
const MARGIN_MS = scaled(1_500);
const ORDERS = 'dyn_stock_order';
const NOT_PENDING = expect.not.objectContaining({ 'projection-pending': 'true' });

type Timed = { readonly answer: Answer; readonly ms: number };
async function timed(request: Promise<Answer>): Promise<Timed> {
  const startedAt = performance.now();
  const answer = await request;
  return { answer, ms: performance.now() - startedAt };
}

const inTime = ({ ms }: Timed): void => expect(ms).toBeLessThan(LIMIT_MS + MARGIN_MS);

function nothingWasWritten(timed: Timed): void {
  inTime(timed);
  const { status, headers, body } = timed.answer;
  expect({ status, body }).toEqual({
    status: 503,
    body: { message: expect.any(String), error: expect.stringMatching(/ Nothing was written\.$/) },
  });
  expect(headers['retry-after']).toBe('1');
}

function outcomeIsUnknown(timed: Timed): void {
  inTime(timed);
  const { status, headers, body } = timed.answer;
  expect({ status, body }).toEqual({
    status: 503,
    body: {
      message: 'Temporarily unavailable; the outcome is not known.',
      error: expect.stringMatching(/ It may have been written, or may be yet: read the record or the order/),
    },
  });
  expect(headers).not.toHaveProperty('retry-after');
}

let service: Service;
const acme = () => service.tenant('acme');
const start = async (env: { readonly [name: string]: string } = {}): Promise<void> => {
  const settings = { REQUEST_TIMEOUT_MS: String(LIMIT_MS), ...env };
  service = await startService({ tenants: { acme: ORDERS }, env: settings });
};

describe('a log that hangs', () => {
  let log: EventStoreDouble;
  beforeAll(async () => {
    log = await EventStoreDouble.start();
    await start({ EVENTSTORE_URL: log.url, LOG_LEVEL: 'info' });
  });
  afterAll(async () => {
    await service.dispose();
    await log.dispose();
  });

  it('a create may have been written, a change that could not read its order was not, and reads go on', async () => {
    const { id } = await acme().create(ORDERS, { notes: 'before' });
    const { meta } = await acme().list(ORDERS);
    const createKeyed = () => acme().postRecord(ORDERS, { notes: 'keyed' }, { headers: { 'idempotency-key': 'hung' } });
    log.freeze(true);
    const stored = log.log.records.length;
    const [created, changed, keyed] = await Promise.all([
      timed(acme().postRecord(ORDERS, { notes: 'hung' })),
      timed(acme().putRecord(ORDERS, id, { notes: 'hung' })),
      timed(createKeyed()),
    ]);
    outcomeIsUnknown(created);
    nothingWasWritten(changed);
    inTime(keyed);
    expect(keyed.answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { error: expect.stringMatching(/(Nothing was written|with the same Idempotency-Key; it is done once)\.$/) },
    });
    expect(await acme().get(ORDERS, id)).toMatchObject({ notes: 'before' });
    expect(await service.readiness()).toMatchObject({
      status: 503,
      body: { checks: { event_store: { ok: false } } },
    });

    log.freeze(false);
    const { count: appends } = log.appends;
    await wait(LIMIT_MS / 2);
    expect({ stored: log.log.records.length, appends: log.appends.count }).toEqual({ stored, appends });
    await acme().update(ORDERS, id, { notes: 'after' });
    // Sent again with its key, there is one.
    const [one, other] = await Promise.all([createKeyed(), createKeyed()]);
    expect([one?.status, other?.text]).toEqual([201, one?.text]);
    expect((await acme().list(ORDERS)).meta.total).toBe(meta.total + 1);
  });
});

describe('the embedded engines', () => {
  beforeAll(() => start({ WRITE_WAIT_MS: '1500' }));
  afterAll(() => service.dispose());

  /** Nobody else writes to the file meanwhile. */
  async function holding(file: string, work: () => Promise<void>): Promise<void> {
    const database = openSqlite(join(service.dataDir, file));
    database.exec('BEGIN IMMEDIATE');
    try {
      await work();
    } finally {
      database.exec('ROLLBACK');
      database.close();
    }
  }

  it('a log that stands still: what was asked of it may be written, and is found by reading', async () => {
    const id = '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';
    await holding('events.db', async () =>
      outcomeIsUnknown(await timed(acme().postRecord(ORDERS, { id, notes: 'hung' }))),
    );
    while ((await acme().getRecord(ORDERS, id)).status !== 200) await wait(50);
    expect(await acme().postRecord(ORDERS, { id, notes: 'again' })).toMatchObject({ status: 422 });
  });

  it('read models that stand still: what is written is answered, what has to wait for them is not written', async () => {
    await acme().create('dyn_item', { external_id: 'known', name: 'Tea' });
    let order = { id: '', lines: [{ id: '' }] };
    await holding('rows/acme.db', async () => {
      const create = () => timed(acme().postRecord(ORDERS, { lines: [{ line_number: 1, quantity: 1 }] }));
      const created = await create();
      expect(created.answer).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });
      order = (created.answer.body as { data: typeof order }).data;
      // Once the oldest write that reads lack is a second old, answers say so, and nothing is said not to be there.
      const behind = { 'projection-staleness': expect.stringMatching(/^[1-9]/) };
      let listed = await timed(acme().getList(ORDERS));
      while (listed.answer.headers['projection-staleness'] === undefined) listed = await timed(acme().getList(ORDERS));
      const got = await timed(acme().getRecord(ORDERS, order.id));
      for (const read of [got, listed]) inTime(read);
      expect(got.answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(listed.answer).toMatchObject({ status: 200, headers: behind });
      const line = order.lines[0]?.id ?? '';
      expect(await acme().getRecord('dyn_order_line', `${line}/history`)).toMatchObject({ status: 503 });
      nothingWasWritten(await timed(acme().putRecord('dyn_order_line', line, { quantity: 2 })));
      const later = await create();
      inTime(later);
      expect(later.answer).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });
      // A clean-up waits until the read models show the last write to its table.
      expect((await acme().postRecord('dyn_item', { external_id: 'not shown', name: 'Tea' })).status).toBe(201);
      nothingWasWritten(await timed(acme().postCleanUp('dyn_item', { batch_id: 'none' })));
    });
    while ((await acme().getRecord(ORDERS, order.id)).status !== 200) await wait(50);
    await acme().create('dyn_item', { external_id: 'after', name: 'Tea' });
    expect((await acme().getList(ORDERS)).headers).toEqual(NOT_PENDING);
  });

  it('a body that arrives slowly takes none of the time', async () => {
    const body = JSON.stringify({ notes: 'slow' });
    const socket = connect(service.port, '127.0.0.1');
    const head = [
      `POST ${ASSETS}/${ORDERS}/assets HTTP/1.1`,
      `Host: ${acme().host}`,
      `Authorization: Bearer ${await acme().token()}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
    await wait(LIMIT_MS + 500);
    socket.write(body.slice(5));
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
  });
});
