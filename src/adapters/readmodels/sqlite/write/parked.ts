/** Tenants that are parked in a projection: each has a checkpoint of its own. */
import type Database from 'better-sqlite3';
import type { Parked } from '../../../../ports/projectionProgress.js';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';

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

/** Each call is part of the caller's transaction. */
export class ParkedTable {
  readonly #all: Database.Statement<[], ParkedRow>;
  readonly #put: Database.Statement<[ParkedRow]>;
  readonly #remove: Database.Statement<[string, string]>;
  readonly #askRetry: Database.Statement<[string, string]>;

  constructor(db: Database.Database) {
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

/** Rebuilt tenants go on with the others. Part of the caller's transaction. */
export function unparkAll(
  db: Database.Database,
  { projection, tenant }: Pick<RebuildScope, 'tenant'> & { readonly projection: string },
): void {
  db.prepare('DELETE FROM parked WHERE projection = @projection AND tenant = ifnull(@tenant, tenant)').run({
    projection,
    tenant: tenant ?? null,
  });
}
