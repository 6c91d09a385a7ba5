/**
 * A tenant as parts of plain JSON, so that a change of one user among thousands stores only that user. A part is a table, a
 * client, a user, a webhook, the ended sessions of one user, or `tenant` (the rest). Standard fields are not stored, since a
 * later release may have others: a standard table is a part only when the tenant has added fields to it.
 */
import type { AssetType } from '../assetTypes/assetType.js';
import type { Tenant } from './directory.js';
import { onThisRelease, standardTables } from './tenantTables.js';

/** `value` is undefined when the part was removed. */
export type TenantPart = { readonly part: string; readonly value: unknown };

const REST = 'tenant';

/** The maps of a tenant: the kind of their parts, how a key is read from a part's name, and how a value becomes JSON and back. */
const KEYED = {
  assetTypes: { kind: 'table', key: String, toJson: asIs, fromJson: asIs },
  clients: { kind: 'client', key: String, toJson: asIs, fromJson: asIs },
  users: { kind: 'user', key: Number, toJson: asIs, fromJson: asIs },
  webhooks: { kind: 'webhook', key: String, toJson: asIs, fromJson: asIs },
  endedSessions: {
    kind: 'sessions',
    key: Number,
    toJson: (sessions: unknown) => [...(sessions as ReadonlyMap<string, string>)],
    fromJson: (entries: unknown) => new Map(entries as readonly (readonly [string, string])[]),
  },
} as const;

const PROPERTIES = Object.keys(KEYED) as (keyof typeof KEYED)[];

function asIs(value: unknown): unknown {
  return value;
}

/**
 * The parts that differ between two states of a tenant.
 * @param before undefined when nothing of it is stored
 */
export function* changedParts(before: Tenant | undefined, now: Tenant): Generator<TenantPart> {
  const [rest, restBefore] = [JSON.stringify(restOf(now)), before && JSON.stringify(restOf(before))];
  if (rest !== restBefore) yield { part: REST, value: restOf(now) };
  const from = before ?? emptied(now);
  for (const property of PROPERTIES) {
    const { kind, toJson } = KEYED[property];
    const [mapBefore, map]: readonly ReadonlyMap<unknown, unknown>[] = [from[property], now[property]];
    if (map === undefined || mapBefore === undefined || map === mapBefore) continue;
    for (const [key, value] of map) {
      // States are never changed in place, so the same object has the same value.
      if (mapBefore.get(key) !== value) yield { part: `${kind} ${key}`, value: toJson(value) };
    }
    for (const key of mapBefore.keys()) if (!map.has(key)) yield { part: `${kind} ${key}`, value: undefined };
  }
}

/** The tenant of these parts. @param parts in the order in which they were first stored @throws Error without a first part */
export function tenantFrom(parts: readonly TenantPart[]): Tenant {
  const rest = parts.find(({ part }) => part === REST)?.value as ReturnType<typeof restOf> | undefined;
  if (rest === undefined) throw new Error('A stored tenant lacks its first part.');
  const maps = new Map<string, { readonly property: keyof typeof KEYED; readonly map: Map<unknown, unknown> }>();
  const standard = standardTables(rest.orderModel);
  for (const property of PROPERTIES) {
    const map = property === 'assetTypes' ? new Map<unknown, unknown>(standard) : new Map();
    maps.set(KEYED[property].kind, { property, map });
  }
  for (const { part, value } of parts) {
    const [kind = '', key = ''] = part.split(' ');
    const { property, map } = maps.get(kind) ?? {};
    if (property === undefined || map === undefined) continue;
    const read =
      property === 'assetTypes' ? onThisRelease(standard, value as AssetType) : KEYED[property].fromJson(value);
    if (read !== undefined) map.set(KEYED[property].key(key), read);
  }
  return { ...rest, ...Object.fromEntries([...maps.values()].map(({ property, map }) => [property, map])) } as Tenant;
}

function restOf({ name, displayName, orderModel, lastUserId, rateLimit, cleanUpGuard, deleted }: Tenant) {
  return {
    name,
    displayName,
    orderModel,
    lastUserId,
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(cleanUpGuard === undefined ? {} : { cleanUpGuard }),
    ...(deleted === undefined ? {} : { deleted }),
  };
}

const emptied = ({ orderModel }: Tenant): Pick<Tenant, keyof typeof KEYED> => ({
  assetTypes: standardTables(orderModel),
  clients: new Map(),
  users: new Map(),
  webhooks: new Map(),
  endedSessions: new Map(),
});
