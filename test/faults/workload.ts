/** Eight writers that keep a ledger: what was acknowledged, and what was under way when the service died. */
import type { TenantClient } from '../acceptance/tenant.js';

/** A batch's items share a prefix of their key, so that a part of it can be told from all of it. */
type Batch = { readonly prefix: string; readonly size: number; acknowledged: boolean; undo?: 'asked for' | 'done' };
type Created = { readonly key: string; id?: string };
type OrderLedger = { readonly id: string; status: string; underWay?: string };
type Sync = { readonly batchId: string; readonly keys: readonly string[]; done: 'begun' | 'upserted' | 'cleaned' };

export class Workload {
  readonly batches: Batch[] = [];
  readonly created: Created[] = [];
  readonly orders: OrderLedger[] = [];
  readonly syncs: Sync[] = [];
  /** Ids that the records of each code have had. */
  readonly idsByCode = new Map<string, Set<string>>();
  readonly #tenant: TenantClient;
  readonly #random: () => number;
  #round = 0;
  #running = false;

  constructor(tenant: TenantClient, random: () => number) {
    this.#tenant = tenant;
    this.#random = random;
  }

  /** Writes until `stop` or until the service is gone; resolves when all writers have ended. */
  async run(): Promise<void> {
    this.#running = true;
    this.#round += 1;
    const batches = [0, 1].map((writer) => this.#batchWriter(writer));
    const records = [0, 1, 2].map((writer) => this.#creator(writer));
    await Promise.all([...batches, ...records, this.#orderer(), this.#orderer(), this.#syncer()]);
  }

  stop(): void {
    this.#running = false;
  }

  /** Repeats `step` until stopped; an error means that the service has died under it. */
  async #repeat(step: (n: number) => Promise<void>): Promise<void> {
    for (let n = 0; this.#running; n++) {
      try {
        await step(n);
      } catch (error) {
        if (error instanceof Error && error.name === 'UnexpectedAnswer') throw error;
        this.#running = false;
      }
    }
  }

  #batchWriter(writer: number): Promise<void> {
    return this.#repeat(async (n) => {
      const batch: Batch = {
        prefix: `r${this.#round}-w${writer}-n${n}-`,
        size: 1 + Math.floor(this.#random() * 80),
        acknowledged: false,
      };
      this.batches.push(batch);
      const items = Array.from({ length: batch.size }, (_, i) => ({
        external_id: `${batch.prefix}${i}`,
        name: `Party ${i}`,
        _batch_id: 'x',
      }));
      const { operation_id: operation } = await this.#tenant.batch('dyn_party', items);
      batch.acknowledged = true;
      if (operation === undefined || this.#random() >= 0.2) return;
      batch.undo = 'asked for';
      await this.#tenant.undo('dyn_party', operation);
      batch.undo = 'done';
    });
  }

  #creator(writer: number): Promise<void> {
    return this.#repeat(async (n) => {
      const created: Created = { key: `r${this.#round}-c${writer}-n${n}` };
      this.created.push(created);
      created.id = (await this.#tenant.create('dyn_item', { external_id: created.key, name: `Item ${n}` })).id;
    });
  }

  /**
   * The synchronisation workflow of spec §4.8: all current records, then the clean-up, which is sometimes undone and
   * repeated. Or the same as a sync session.
   */
  #syncer(): Promise<void> {
    return this.#repeat(async (n) => {
      const keys = Array.from({ length: 30 }, (_, i) => `u${i}`).filter(() => this.#random() < 0.7);
      const isSession = this.#random() < 0.4;
      const batchId = isSession ? await this.#tenant.sync('dyn_unit_code') : `r${this.#round}-s${n}`;
      const sync: Sync = { batchId, keys: ['always', ...keys], done: 'begun' };
      this.syncs.push(sync);
      await this.#tenant.batch(
        'dyn_unit_code',
        sync.keys.map((code) => ({ code, value: code, _batch_id: sync.batchId })),
      );
      sync.done = 'upserted';
      if (isSession) {
        await this.#tenant.commit('dyn_unit_code', batchId, sync.keys.length);
      } else {
        const { operation_id: operation } = await this.#tenant.cleanUp('dyn_unit_code', batchId);
        if (operation !== undefined && this.#random() < 0.3) {
          await this.#tenant.undo('dyn_unit_code', operation);
          await this.#tenant.cleanUp('dyn_unit_code', batchId);
        }
      }
      sync.done = 'cleaned';
      const { data } = await this.#tenant.list('dyn_unit_code', { perPage: '100' });
      for (const { code, id } of data) {
        const ids = this.idsByCode.get(String(code)) ?? new Set();
        this.idsByCode.set(String(code), ids.add(id));
      }
    });
  }

  #orderer(): Promise<void> {
    return this.#repeat(async () => {
      const { id } = await this.#tenant.create('dyn_stock_order', { customer_reference: 'PO' });
      const order: OrderLedger = { id, status: 'pending_validation' };
      this.orders.push(order);
      for (const status of ['saved', 'validated', 'completed']) {
        order.underWay = status;
        await this.#tenant.update('dyn_stock_order', id, { processing_status: status });
        order.status = status;
        delete order.underWay;
      }
    });
  }
}
