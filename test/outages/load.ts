/** Concurrent requests of several kinds while an engine is in trouble, and the outcome of each. */
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer } from '../acceptance/http.js';
import type { Service } from '../acceptance/service.js';
import { type TenantClient, UnexpectedAnswer } from '../acceptance/tenant.js';

const ORDERS = 'dyn_stock_order';
const ITEMS = 'dyn_item';

/** Concurrent requests. */
const AT_ONCE = { orders: 12, items: 4, gets: 4, lists: 2 };
const PAUSE_MS = 20;
const READINESS_PAUSE_MS = 200;

/** `at`: when it was sent, in milliseconds since 1970. `error`: the body of an answer that is not 200 or 201. */
type Outcome = { readonly status: number; readonly at: number; readonly ms: number; readonly error?: unknown };

export class Load {
  readonly writes: Outcome[] = [];
  readonly reads: Outcome[] = [];
  /** Names of the checks that `/health/ready` found failing. */
  readonly failedChecks = new Set<string>();
  readonly #service: Service;
  readonly #tenant: TenantClient;
  readonly #acknowledged: { readonly table: string; readonly id: string }[] = [];
  readonly #running: Promise<unknown>;
  readonly #pauseMs: number;
  #keys = 0;
  #stopped = false;

  /**
   * @param known id of an existing order
   * @param pauseMs between an answer and the next request
   */
  constructor(service: Service, tenant: TenantClient, known: string, pauseMs = PAUSE_MS) {
    this.#service = service;
    this.#tenant = tenant;
    this.#pauseMs = pauseMs;
    const start = Date.now();
    const key = (): string => `${start}-${this.#keys++}`;
    this.#running = Promise.all([
      ...this.#repeat(AT_ONCE.orders, () => this.#create(ORDERS, { notes: key() })),
      ...this.#repeat(AT_ONCE.items, () => this.#create(ITEMS, { external_id: key(), name: 'Tea' })),
      ...this.#repeat(AT_ONCE.gets, () => this.#note(this.reads, tenant.getRecord(ORDERS, known))),
      ...this.#repeat(AT_ONCE.lists, () => this.#note(this.reads, tenant.getList(ITEMS))),
      ...this.#repeat(1, () => this.#lookAtReadiness()),
    ]);
  }

  /** Time until a write that is sent from now on succeeds, in milliseconds. */
  async writesAreBack(): Promise<number> {
    const since = Date.now();
    for (;;) {
      const first = this.writes.find(({ status, at }) => status === 201 && at > since);
      if (first !== undefined) return first.at + first.ms - since;
      await wait(10);
    }
  }

  /** Memory of the service's process, in megabytes. */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.#service.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  }

  /** Resolves when readiness has found the check failing, which takes longer on a busy machine; the test's time limit ends the wait. */
  async hasFailed(check: string): Promise<void> {
    while (!this.failedChecks.has(check)) await wait(50);
  }

  /** Ends when all requests are answered. Each acknowledged record is there, and no order was stored twice. */
  async end(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    while ((await this.#readiness()).status !== 200) await wait(50);
    const last = this.#acknowledged.at(-1);
    // Reads that would be too stale are refused, for a moment after the projections have caught up.
    while (last && (await this.#tenant.getRecord(last.table, last.id)).status === 503) await wait(50);
    for (const { table, id } of this.#acknowledged) await this.#tenant.get(table, id);
    const notes = await this.#notesOfOrders();
    expect(new Set(notes).size).toBe(notes.length);
  }

  #repeat(count: number, work: () => Promise<unknown>): readonly Promise<void>[] {
    return Array.from({ length: count }, async () => {
      while (!this.#stopped) {
        await work();
        await wait(this.#pauseMs);
      }
    });
  }

  async #create(table: string, fields: { readonly [field: string]: string }): Promise<void> {
    const answer = await this.#note(this.writes, this.#tenant.postRecord(table, fields));
    if (answer.status === 201) {
      this.#acknowledged.push({ table, id: (answer.body as { data: { id: string } }).data.id });
    } else if (answer.status !== 503) throw new UnexpectedAnswer(answer);
  }

  async #note(outcomes: Outcome[], request: Promise<Answer>): Promise<Answer> {
    const at = Date.now();
    const answer = await request;
    const outcome = { status: answer.status, at, ms: Date.now() - at };
    outcomes.push(answer.status < 300 ? outcome : { ...outcome, error: answer.body });
    return answer;
  }

  #readiness(): Promise<Answer> {
    return this.#service.send({ method: 'GET', path: '/health/ready' });
  }

  async #lookAtReadiness(): Promise<void> {
    const { checks } = (await this.#readiness()).body as { checks: { [name: string]: { ok: boolean } } };
    for (const [name, { ok }] of Object.entries(checks)) if (!ok) this.failedChecks.add(name);
    await wait(READINESS_PAUSE_MS);
  }

  async #notesOfOrders(): Promise<readonly unknown[]> {
    const notes: unknown[] = [];
    for (let page = 1; ; page += 1) {
      const { data, meta } = await this.#tenant.list(ORDERS, { page: String(page), perPage: '1000' });
      // Orders that the test created itself may have none.
      notes.push(...data.map((order) => order.notes).filter((each) => each !== null));
      if (page >= meta.last_page) return notes;
    }
  }
}
