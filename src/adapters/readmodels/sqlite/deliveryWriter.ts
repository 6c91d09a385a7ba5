/** The delivery logs of one copy (what is served, or what a rebuild fills), as they are written. */
import type Database from 'better-sqlite3';
import type { DeliveryLogEntry, WebhookHealth } from '../../../ports/deliveryLog.js';
import { healthAfter, instant } from '../shared/deliveryLog.js';

type Webhook = WebhookHealth & { readonly id: number };
type Row = {
  readonly log: number;
  readonly id: string;
  readonly webhook: number;
  readonly position: number;
  readonly revision: number;
  readonly state: string;
  readonly kind: string;
  readonly orderId: string | null;
  readonly requestedAt: number;
  readonly endedAt: number | null;
  readonly entry: string;
};

export class DeliveryTable {
  readonly #copy: number;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: Database.Database, copy: number) {
    this.#copy = copy;
    this.#statements = prepare(db);
  }

  get(tenant: string, id: string): DeliveryLogEntry | undefined {
    const log = this.#statements.findLog.get(tenant, this.#copy);
    const entry = log === undefined ? undefined : this.#statements.entry.get(log, id);
    return entry === undefined ? undefined : JSON.parse(entry);
  }

  /** An entry that is stored at the same or a later revision stays as it is. */
  put(tenant: string, entry: DeliveryLogEntry): void {
    const { findLog, addLog, revision, write } = this.#statements;
    const log = findLog.get(tenant, this.#copy) ?? Number(addLog.run(tenant, this.#copy).lastInsertRowid);
    if ((revision.get(log, entry.id) ?? -1) >= entry.revision) return;
    write.run({
      log,
      id: entry.id,
      webhook: this.#webhook(log, entry),
      position: entry.position,
      revision: entry.revision,
      state: entry.state,
      kind: entry.kind,
      orderId: entry.orderId,
      requestedAt: instant(entry.requestedAt),
      endedAt: entry.endedAt === null ? null : instant(entry.endedAt),
      entry: JSON.stringify(entry),
    });
  }

  /** The webhook's number in its log, with its health brought up to this entry. */
  #webhook(log: number, entry: DeliveryLogEntry): number {
    const { findWebhook, addWebhook, setHealth } = this.#statements;
    const webhook = findWebhook.get(log, entry.webhookId) ?? {
      id: Number(addWebhook.run(log, entry.webhookId).lastInsertRowid),
      lastSuccessAt: null,
      failingSince: null,
    };
    const { lastSuccessAt, failingSince } = healthAfter(webhook, entry);
    if (lastSuccessAt !== webhook.lastSuccessAt || failingSince !== webhook.failingSince) {
      setHealth.run(lastSuccessAt, failingSince, webhook.id);
    }
    return webhook.id;
  }
}

function prepare(db: Database.Database) {
  return {
    findLog: db.prepare<[string, number], number>('SELECT id FROM delivery_logs WHERE tenant = ? AND copy = ?').pluck(),
    addLog: db.prepare<[string, number]>('INSERT INTO delivery_logs (tenant, copy) VALUES (?, ?)'),
    entry: db.prepare<[number, string], string>('SELECT entry FROM deliveries WHERE log = ? AND id = ?').pluck(),
    revision: db.prepare<[number, string], number>('SELECT revision FROM deliveries WHERE log = ? AND id = ?').pluck(),
    write: db.prepare<[Row]>(
      `INSERT INTO deliveries
         (log, id, webhook, position, revision, state, kind, order_id, requested_at, ended_at, entry)
       VALUES
         (@log, @id, @webhook, @position, @revision, @state, @kind, @orderId, @requestedAt, @endedAt, @entry)
       ON CONFLICT (log, id) DO UPDATE SET
         revision = @revision, state = @state, ended_at = @endedAt, entry = @entry`,
    ),
    findWebhook: db.prepare<[number, string], Webhook>(
      `SELECT id, last_success_at AS lastSuccessAt, failing_since AS failingSince
       FROM delivery_webhooks WHERE log = ? AND webhook = ?`,
    ),
    addWebhook: db.prepare<[number, string]>('INSERT INTO delivery_webhooks (log, webhook) VALUES (?, ?)'),
    setHealth: db.prepare<[string | null, string | null, number]>(
      'UPDATE delivery_webhooks SET last_success_at = ?, failing_since = ? WHERE id = ?',
    ),
  };
}

/** Drops at most `limit` entries that ended before this time; one that is open has no end. @returns how many */
export function dropDeliveries(db: Database.Database, endedBefore: string, limit: number): number {
  const dropped = db
    .prepare<[number, number]>(
      'DELETE FROM deliveries WHERE row IN (SELECT row FROM deliveries WHERE ended_at < ? ORDER BY ended_at LIMIT ?)',
    )
    .run(instant(endedBefore), limit);
  return dropped.changes;
}
