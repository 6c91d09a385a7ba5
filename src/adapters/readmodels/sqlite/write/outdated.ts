/** Finds tables that were laid out for an earlier version of their asset types. */
import type Database from 'better-sqlite3';
import { LIVE } from '../ddl.js';
import { isOutdated } from '../layout.js';

const NEXT_TENANT = `SELECT min(tenant) FROM catalog WHERE copy = ${LIVE} AND tenant > ?`;

export const nextTenant = (db: Database.Database, after = ''): string | undefined =>
  db.prepare<[string], string | null>(NEXT_TENANT).pluck().get(after) ?? undefined;

type Row = { readonly name: string; readonly assetType: string; readonly layout: string };

/** Tables without records are not outdated: they are laid out with their first one. */
const TABLES = `SELECT name, asset_type AS assetType, layout FROM catalog
  WHERE tenant = ? AND copy = ${LIVE} AND made = 1 ORDER BY name`;

export const outdatedTables = (db: Database.Database, tenant: string): readonly string[] =>
  db
    .prepare<[string], Row>(TABLES)
    .all(tenant)
    .filter(({ assetType, layout }) => isOutdated(JSON.parse(assetType), JSON.parse(layout)))
    .map(({ name }) => name);
