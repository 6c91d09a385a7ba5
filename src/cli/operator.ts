/** What commands share that change a tenant's directory: they act as the operator, beside a running service or without one. */
import { userInfo } from 'node:os';
import { newId } from '../commands/clock.js';
import type { Caller, TenantDirectory } from '../commands/context.js';
import { readConfig } from '../config.js';
import type { Tenant } from '../domain/identity/directory.js';
import { type DirectoryTools, openDirectoryTools } from '../service/operatorTools.js';

/** The person at the command line, as the log remembers what they do. */
export function operator(tenant: string): Caller {
  const id = newId();
  return { tenant, actor: { kind: 'operator', id: userName() }, correlationId: id, causationId: id };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry in the system's user database, as in some containers.
    return 'operator';
  }
}

/** Opens the event log for the time of `work`. @throws ConfigError, and what the work throws */
export async function withDirectory<T>(work: (tools: DirectoryTools) => Promise<T>): Promise<T> {
  const tools = await openDirectoryTools(readConfig(process.env));
  try {
    return await work(tools);
  } finally {
    await tools.close();
  }
}

export const tenantsByName = (directory: Pick<TenantDirectory, 'tenants'>): readonly Tenant[] =>
  [...directory.tenants()].sort((a, b) => (a.name < b.name ? -1 : 1));
