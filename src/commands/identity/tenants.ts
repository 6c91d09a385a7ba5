/** Tenants: created by an operator, each with one order model. */
import type { Tenant } from '../../domain/identity/directory.js';
import { type DirectoryEvent, ORDER_MODELS, type RateLimit } from '../../domain/identity/events.js';
import type { Quota } from '../../domain/quotas.js';
import type { CleanUpGuard } from '../../domain/referenceTable/cleanUpGuard.js';
import { TENANT_NAME, tenantStream } from '../../domain/streams.js';
import { type Caller, ConflictError, ValidationError } from '../context.js';
import { type DirectoryChange, type DirectoryCommands, writeDirectory, writeTenant } from './directoryWriter.js';

/** @throws ValidationError for a name that is no host label */
export function checkTenantName(name: string): void {
  if (TENANT_NAME.test(name)) return;
  throw new ValidationError({
    name: ['The name must be 1 to 40 lower-case letters, digits and single hyphens: it becomes part of a host name.'],
  });
}

/**
 * @throws ValidationError for a name that is no host label or an unknown order model
 * @throws ConflictError when the tenant exists
 */
export async function createTenant(
  commands: DirectoryCommands,
  caller: Caller,
  input: { readonly displayName?: string; readonly orderModel: string },
): Promise<DirectoryChange> {
  const name = caller.tenant;
  checkTenantName(name);
  const orderModel = ORDER_MODELS.find((model) => model === input.orderModel);
  if (orderModel === undefined) {
    throw new ValidationError({ order_model: [`The order model must be one of ${ORDER_MODELS.join(', ')}.`] });
  }
  return writeTenant(commands, caller, tenantStream(name), (tenant) => {
    if (tenant !== undefined) throw new ConflictError(`Tenant ${name} exists already.`);
    return [{ type: 'TenantCreated', data: { name, displayName: input.displayName ?? name, orderModel } }];
  });
}

/**
 * Hosts, tokens and sessions of the tenant end, its webhooks are sent nothing more, its read models are dropped, and its
 * name is not given again. Its events stay in the log. @throws NotFoundError
 */
export function deleteTenant(commands: DirectoryCommands, caller: Caller): Promise<DirectoryChange> {
  const { tenant: name } = caller;
  return writeDirectory(commands, caller, tenantStream(name), () => [{ type: 'TenantDeleted', data: { name } }], true);
}

export const changeRateLimit = (
  commands: DirectoryCommands,
  caller: Caller,
  limit: RateLimit,
): Promise<DirectoryChange> => changeTenant(commands, caller, { type: 'RateLimitChanged', data: limit });

/** The operator's rate limit applies again. Nothing is written if it does already. @throws NotFoundError */
export const removeRateLimit = (commands: DirectoryCommands, caller: Caller): Promise<DirectoryChange> =>
  changeTenant(commands, caller, { type: 'RateLimitRemoved', data: {} }, ({ rateLimit }) => rateLimit !== undefined);

/** @param guard undefined: clean-ups are no longer guarded */
export const changeCleanUpGuard = (
  commands: DirectoryCommands,
  caller: Caller,
  guard: CleanUpGuard | undefined,
): Promise<DirectoryChange> =>
  changeTenant(commands, caller, { type: 'CleanUpGuardChanged', data: guard ?? { maxPercent: null } });

/** @param quotas only those that change; null: the installation's counts again; 0: no limit */
export const changeQuotas = (
  commands: DirectoryCommands,
  caller: Caller,
  quotas: { readonly [quota in Quota]?: number | null },
): Promise<DirectoryChange> => changeTenant(commands, caller, { type: 'QuotasChanged', data: quotas });

function changeTenant(
  commands: DirectoryCommands,
  caller: Caller,
  event: DirectoryEvent,
  isChange: (tenant: Tenant) => boolean = () => true,
): Promise<DirectoryChange> {
  return writeDirectory(commands, caller, tenantStream(caller.tenant), (tenant) => (isChange(tenant) ? [event] : []));
}
