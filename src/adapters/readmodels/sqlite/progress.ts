/**
 * The progress of projections beside their checkpoints: parked tenants, events that were applied out of order, and the
 * furthest event, by which the log is known again.
 */

import type { LogAnchor } from '../../../ports/eventStore.js';
import type { OutOfOrder, Parked } from '../../../ports/projectionProgress.js';
import type { RebuildScope } from '../../../ports/readModelWriter.js';
import type { Database, Statement } from '../../openSqlite.js';

type Scope = Pick<RebuildScope, 'tenant'> & { readonly projection: string };

const cellsOf = ({ projection, tenant }: Scope) => ({ projection, tenant: tenant ?? null });

export const LOG_ANCHOR = 'SELECT log, position, event_id FROM log_anchor';
export type LogAnchorRow = { readonly log: string | null; readonly position: number; readonly event_id: string | null };

export const logAnchorOf = (row: LogAnchorRow | undefined): LogAnchor | undefined =>
  row && { log: row.log ?? undefined, position: row.position, eventId: row.event_id ?? undefined };

export const ALL_PARKED = `
  SELECT tenant, projection, checkpoint, position, event_id AS eventId, event_type AS eventType, error, since,
    retry_asked AS retryAsked
  FROM parked ORDER BY since, tenant, projection`;

export type ParkedRow = Omit<Parked, 'retryAsked'> & { readonly retryAsked: number };

export const parkedOf = (row: ParkedRow): Parked => ({ ...row, retryAsked: row.retryAsked === 1 });

/** A tenant's name has no blank. */
export const parkedKey = ({ tenant, projection }: Pick<Parked, 'tenant' | 'projection'>): string =>
  `${projection} ${tenant}`;

export const IS_PARKED = 'SELECT count(*) FROM parked WHERE tenant = ? AND projection = ?';

/** Tenants that are parked in a projection. Each call is part of the caller's transaction. */
export class ParkedTable {
  readonly #all: Statement<[], ParkedRow>;
  readonly #put: Statement<[ParkedRow]>;
  readonly #remove: Statement<[string, string]>;
  readonly #askRetry: Statement<[string, string]>;

  constructor(db: Database) {
    this.#all = db.prepare<[], ParkedRow>(ALL_PARKED);
    this.#put = db.prepare<[ParkedRow]>(
      `INSERT OR REPLACE INTO parked
         (tenant, projection, checkpoint, position, event_id, event_type, error, since, retry_asked)
       VALUES (@tenant, @projection, @checkpoint, @position, @eventId, @eventType, @error, @since, @retryAsked)`,
    );
    this.#remove = db.prepare<[string, string]>('DELETE FROM parked WHERE tenant = ? AND projection = ?');
    this.#askRetry = db.prepare<[string, string]>(
      'UPDATE parked SET retry_asked = 1 WHERE tenant = ? AND projection = ?',
    );
  }

  all(): readonly Parked[] {
    return this.#all.all().map(parkedOf);
  }

  put(parked: Parked): void {
    this.#put.run({ ...parked, retryAsked: Number(parked.retryAsked) });
  }

  remove(tenant: string, projection: string): void {
    this.#remove.run(tenant, projection);
  }

  /** @returns whether the tenant is parked there */
  askRetry(tenant: string, projection: string): boolean {
    return this.#askRetry.run(tenant, projection).changes > 0;
  }
}

export const ALL_OUT_OF_ORDER = 'SELECT projection, tenant, position, pieces FROM out_of_order ORDER BY position';

export const IS_OUT_OF_ORDER =
  'SELECT count(*) FROM out_of_order WHERE projection = ? AND position = ? AND pieces IS NULL';

const ITS_TENANT_IS_PARKED =
  'EXISTS (SELECT 1 FROM parked WHERE tenant = out_of_order.tenant AND projection = out_of_order.projection)';

/** Events that were applied beyond the checkpoint of their projection. Each call is part of the caller's transaction. */
export class OutOfOrderTable {
  readonly #all: Statement<[], OutOfOrder>;
  readonly #put: Statement<[OutOfOrder]>;
  readonly #removePassed: Statement<[]>;

  constructor(db: Database) {
    this.#all = db.prepare<[], OutOfOrder>(ALL_OUT_OF_ORDER);
    this.#put = db.prepare<[OutOfOrder]>(
      'INSERT OR REPLACE INTO out_of_order (projection, tenant, position, pieces) VALUES (@projection, @tenant, @position, @pieces)',
    );
    // Rows of parked tenants stay: a retry need not apply these events again.
    this.#removePassed = db.prepare(
      `DELETE FROM out_of_order WHERE NOT ${ITS_TENANT_IS_PARKED}
         AND position <= (SELECT position FROM checkpoints WHERE projection = out_of_order.projection)`,
    );
  }

  all(): readonly OutOfOrder[] {
    return this.#all.all();
  }

  put(applied: OutOfOrder): void {
    this.#put.run(applied);
  }

  removePassed(): void {
    this.#removePassed.run();
  }
}

/** Whether the served tables of the scope hold more than their checkpoint says. Parked tenants do not count: they stand still. */
export function isAnyOutOfOrder(db: Database, scope: Scope): boolean {
  const found = db
    .prepare<[ReturnType<typeof cellsOf>], number>(
      `SELECT count(*) FROM out_of_order
       WHERE projection = @projection AND tenant = ifnull(@tenant, tenant) AND NOT ${ITS_TENANT_IS_PARKED}`,
    )
    .pluck()
    .get(cellsOf(scope));
  return (found ?? 0) > 0;
}

/** Rebuilt tables hold exactly what the checkpoint says, and nobody in them is parked. Part of the caller's transaction. */
export function forgetProgress(db: Database, scope: Scope): void {
  for (const table of ['parked', 'out_of_order']) {
    db.prepare(`DELETE FROM ${table} WHERE projection = @projection AND tenant = ifnull(@tenant, tenant)`).run(
      cellsOf(scope),
    );
  }
}
