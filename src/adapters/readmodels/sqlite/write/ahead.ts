/** Events that were applied out of order: they lie beyond the checkpoint of their projection. */
import type Database from 'better-sqlite3';
import type { OutOfOrder } from '../../../../ports/projectionProgress.js';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';

export const ALL_AHEAD = 'SELECT projection, tenant, position, pieces FROM out_of_order ORDER BY position';

export const IS_AHEAD = 'SELECT count(*) FROM out_of_order WHERE projection = ? AND position = ? AND pieces IS NULL';

const IS_PARKED = 'EXISTS (SELECT 1 FROM parked WHERE tenant = out_of_order.tenant AND projection = out_of_order.projection)';

/** Each call is part of the caller's transaction. */
export class AheadTable {
  readonly #all: Database.Statement<[], OutOfOrder>;
  readonly #put: Database.Statement<[OutOfOrder]>;
  readonly #removePassed: Database.Statement<[]>;

  constructor(db: Database.Database) {
    this.#all = db.prepare<[], OutOfOrder>(ALL_AHEAD);
    this.#put = db.prepare<[OutOfOrder]>(
      'INSERT OR REPLACE INTO out_of_order (projection, tenant, position, pieces) VALUES (@projection, @tenant, @position, @pieces)',
    );
    // Rows of parked tenants stay: a retry need not apply these events again.
    this.#removePassed = db.prepare(
      `DELETE FROM out_of_order WHERE NOT ${IS_PARKED}
         AND position <= (SELECT position FROM checkpoints WHERE projection = out_of_order.projection)`,
    );
  }

  all(): readonly OutOfOrder[] {
    return this.#all.all();
  }

  put(ahead: OutOfOrder): void {
    this.#put.run(ahead);
  }

  removePassed(): void {
    this.#removePassed.run();
  }
}

/** Whether the served tables of the scope hold more than their checkpoint says. Parked tenants do not count: they stand still. */
export function isAnyAhead(db: Database.Database, { projection, tenant }: RebuildScope): boolean {
  const found = db
    .prepare<[{ projection: string; tenant: string | null }], number>(
      `SELECT count(*) FROM out_of_order
       WHERE projection = @projection AND tenant = ifnull(@tenant, tenant) AND NOT ${IS_PARKED}`,
    )
    .pluck()
    .get({ projection, tenant: tenant ?? null });
  return (found ?? 0) > 0;
}

/** Rebuilt tables hold exactly what the checkpoint says. Part of the caller's transaction. */
export function forgetAhead(
  db: Database.Database,
  { projection, tenant }: Pick<RebuildScope, 'tenant'> & { readonly projection: string },
): void {
  db.prepare('DELETE FROM out_of_order WHERE projection = @projection AND tenant = ifnull(@tenant, tenant)').run({
    projection,
    tenant: tenant ?? null,
  });
}
