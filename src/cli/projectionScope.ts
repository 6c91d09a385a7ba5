/** Options that select read models, shared by several commands. */
import { type Command, Option } from 'commander';
import { nearestFirst } from '../domain/editDistance.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { projections } from '../projector/projections.js';
import { UnknownNameError, UsageError } from './errors.js';
import type { ProjectionTools } from './operator.js';
import type { JsonOption } from './output.js';

/** Names of all projections. */
export const NAMES = projections.map(({ name }) => name);
export type Name = (typeof NAMES)[number];

export type ScopeOptions = JsonOption & {
  readonly projection?: Name;
  readonly tenant?: string;
  readonly table?: string;
};

export const withScope = (command: Command): Command =>
  command
    .addOption(new Option('--projection <name>', 'only this one (default: all)').choices(NAMES))
    .option('--tenant <name>', 'only what belongs to this tenant')
    .option('--table <name>', 'only this table of records; needs --tenant');

/** --table implies the records projection. @throws UsageError */
export function namesIn({ projection, tenant, table }: ScopeOptions): readonly Name[] {
  if (table === undefined) return projection === undefined ? NAMES : [projection];
  if (tenant === undefined) throw new UsageError('--table needs --tenant: name the tenant that the table belongs to.');
  if (projection !== undefined && projection !== 'records') {
    throw new UsageError('--table goes with --projection records only.');
  }
  return ['records'];
}

/** Checks that the tenant and table exist. @throws UnknownNameError */
export async function scopeIn(tools: ProjectionTools, { tenant: name, table }: ScopeOptions) {
  if (name === undefined) return {};
  const tenant = await tools.tenant(name);
  if (table === undefined) return { tenant: name };
  if (!tenant.assetTypes.has(table)) {
    const tables = nearestFirst(table, [...tenant.assetTypes.keys()]);
    throw new UnknownNameError(`table ${table} in tenant ${name}`, tables, 'The tenant has none.');
  }
  return { tenant: name, table };
}

/** `records of acme/dyn_item`. */
export function scopeText({
  projection,
  tenant,
  table,
}: Pick<RebuildScope, 'projection' | 'tenant' | 'table'>): string {
  const scope = [tenant, table].filter((part) => part !== undefined).join('/');
  return scope === '' ? projection : `${projection} of ${scope}`;
}
