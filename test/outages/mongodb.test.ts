/** MongoDB goes away and comes back: writes that the log alone decides go on, reads answer 503. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer } from '../acceptance/http.js';
import { type Service, startService } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { ENGINE_START_MS, MongoDbServer, mongoDbServerMissing } from '../engines/mongodb.js';
import { scaled } from '../engines/timeScale.js';

/** The default of REQUEST_TIMEOUT_MS, with a margin for a busy machine. */
const REQUEST_MS = scaled(12_000);
/** How soon rows are written again once it is back. */
const SOON_MS = scaled(6_000);
/** The rows' thread has 5 s to end. */
const STOP_MS = scaled(8_000);

describeEngine('mongodb', 'the service with MongoDB away', mongoDbServerMissing(), () => {
  let server: MongoDbServer;
  let service: Service;
  const acme = () => service.tenant('acme');

  beforeAll(async () => {
    server = await MongoDbServer.start();
    service = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { MONGODB_URL: server.url } });
  }, ENGINE_START_MS);
  afterAll(async () => {
    await service?.dispose();
    await server?.dispose();
  });

  const isMissing = async () => {
    const rows = { ok: false, detail: expect.stringMatching(/^MongoDB /) };
    const checks = { read_models: rows, event_store: { ok: true } };
    expect(await service.readiness()).toMatchObject({ status: 503, body: { checks } });
    const metrics = await service.send({ method: 'GET', path: '/metrics' });
    expect(metrics.status).toBe(200);
    expect(metrics.text).toMatch(/^engine_up\{engine="read_models"\} 0$/m);
    expect(metrics.text).not.toMatch(/^projection_lag_events\{/m);
  };
  /** Resolves when the order has these fields; meanwhile it is as before, or 503, and never 404. */
  const shows = async (id: string, fields: Record<string, string>) => {
    for (;;) {
      const { status, body } = await acme().getRecord('dyn_stock_order', id);
      expect([200, 503]).toContain(status);
      const { data } = body as { data?: Record<string, unknown> };
      if (Object.entries(fields).every(([name, value]) => data?.[name] === value)) return;
      await wait(50);
    }
  };
  const isTemporary = ({ status, headers, body }: Answer, more = '') => {
    expect({ status, retryAfter: headers['retry-after'], body }).toEqual({
      status: 503,
      retryAfter: '1',
      body: { message: expect.any(String), error: `The rows cannot be reached.${more}` },
    });
  };
  const isRefused = (answer: Answer) => isTemporary(answer, ' Nothing was written.');
  const idOf = ({ body }: Answer): string => (body as { data: { id: string } }).data.id;

  /** Writes that the log alone decides succeed; the others are refused with nothing stored. */
  async function worksWithout(known: string): Promise<string> {
    isTemporary(await acme().getList('dyn_stock_order'));
    isTemporary(await acme().getRecord('dyn_stock_order', known));
    const head = await service.logHead();
    isRefused(await acme().postRecord('dyn_item', { external_id: 'away', name: 'Tea' }));
    isRefused(await acme().postBatch('dyn_party', { items: [{ external_id: 'away', name: 'Away' }] }));
    expect(await service.logHead()).toBe(head);

    const created = await acme().postRecord('dyn_stock_order', { notes: 'while away' });
    expect(created).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });
    const changed = await acme().putRecord('dyn_stock_order', known, { processing_status: 'completed' });
    expect(changed).toMatchObject({ status: 200, headers: { 'projection-pending': 'true' } });
    await isMissing();
    return idOf(created);
  }

  it('when it is killed, orders are still written, and shown when it is back', async () => {
    await service.becomesReady();
    const { id } = await acme().create('dyn_stock_order', { notes: 'before' });
    await server.kill();
    const late = await worksWithout(id);
    await server.start();
    const backAt = performance.now();
    await service.becomesReady();
    await shows(late, { notes: 'while away' });
    await shows(id, { processing_status: 'completed' });
    await acme().create('dyn_item', { external_id: 'after', name: 'Tea' });
    expect(performance.now() - backAt).toBeLessThan(SOON_MS);
  });

  it('when it hangs for five seconds, all is answered in time, and it is well again by itself', async () => {
    await service.becomesReady();
    const { id } = await acme().create('dyn_stock_order', { notes: 'before' });
    await server.freeze();
    const hangs = wait(5_000);
    const startedAt = performance.now();
    const [read, created, refused, ready] = await Promise.all([
      acme().getRecord('dyn_stock_order', id),
      acme().postRecord('dyn_stock_order', { notes: 'while it hangs' }),
      acme().postRecord('dyn_item', { external_id: 'hung', name: 'Tea' }),
      service.readiness(),
    ]);
    const tookMs = performance.now() - startedAt;
    await hangs;
    await server.thaw();
    expect(tookMs).toBeLessThan(REQUEST_MS);
    isTemporary(read);
    isRefused(refused);
    expect(created).toMatchObject({ status: 201, headers: { 'projection-pending': 'true' } });
    expect(ready).toMatchObject({ status: 503, body: { checks: { read_models: { ok: false } } } });
    await service.becomesReady();
    await shows(idOf(created), { notes: 'while it hangs' });
    await acme().create('dyn_item', { external_id: 'hung', name: 'Tea' });
  });

  it('the service starts without it, says so, and catches up when it comes', async () => {
    await service.becomesReady();
    const { id } = await acme().create('dyn_stock_order', { notes: 'before' });
    await service.stop();
    await server.stop();
    await service.start();
    const late = await worksWithout(id);
    await server.start();
    await service.becomesReady();
    await shows(late, { notes: 'while away' });
  });

  it.each<[string, () => Promise<void>, () => Promise<void>]>([
    ['hangs', () => server.freeze(), () => server.thaw()],
    [
      'was killed and is back',
      async () => {
        await server.kill();
        await server.start();
      },
      async () => undefined,
    ],
  ])('a service that is stopped ends in time when MongoDB %s', async (_, disturb, mend): Promise<void> => {
    await service.becomesReady();
    await disturb();
    try {
      const startedAt = performance.now();
      expect(await service.stop()).toBe(0);
      expect(performance.now() - startedAt).toBeLessThan(STOP_MS);
    } finally {
      await mend();
    }
    await service.start();
    await service.becomesReady();
    await acme().create('dyn_stock_order', { notes: 'after' });
  });
});
