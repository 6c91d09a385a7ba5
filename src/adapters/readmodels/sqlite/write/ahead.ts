/** Events that are applied although they lie beyond the checkpoint of their projection. */
import type Database from 'better-sqlite3';
import type { OutOfOrder } from '../../../../ports/projectionProgress.js';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';

export const ALL_AHEAD = 'SELECT projection, tenant, position, pieces FROM out_of_order ORDER BY position';

export const IS_AHEAD = 'SELECT count(*) FROM out_of_order WHERE projection = ? AND position = ? AND pieces IS NULL';

const IS_PARKED = 'EXISTS (SELECT 1 FROM parked WHERE tenant = out_of_order.tenant AND projection = out_of_order.projection)';

/** Writes them; each call is part of the caller's transaction. */
export class AheadTable {
  readonly #all: Database.Statement<[], OutOfOrder>;
  readonly #put: Database.Statement<[OutOfOrder]>;
  readonly #removePassed: Database.Statement<[]>;

  constructor(db: Database.Database) {
    this.#all = db.prepare<[], OutOfOrder>(ALL_AHEAD);
    this.#put = db.prepare<[OutOfOrder]>(
      'INSERT OR REPLACE INTO out_of_order (projection, tenant, position, pieces) VALUES (@projection, @tenant, @position, @pieces)',
    );
    // Of what is parked they tell what a retry need not apply again.
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

/** What is served of the scope holds more than its checkpoint says. What is parked stands still, and is not meant. */
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

/** What was filled anew holds what the checkpoint says. Part of the caller's transaction. */
export function forgetAhead(
  db: Database.Database,
  { projection, tenant }: Pick<RebuildScope, 'tenant'> & { readonly projection: string },
): void {
  db.prepare('DELETE FROM out_of_order WHERE projection = @projection AND tenant = ifnull(@tenant, tenant)').run({
    projection,
    tenant: tenant ?? null,
  });
}
