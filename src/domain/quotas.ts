/** What a tenant may use of what grows for good. */

const ASK = 'ask the operator to raise the quota';

/** Each with its name in the API, what it counts, and what to do when it is used up. */
export const QUOTAS = {
  logBytes: {
    name: 'log_bytes',
    counts: 'bytes in the event log',
    remedy: `The log keeps what was ever written: ${ASK}.`,
  },
  records: { name: 'records', counts: 'records', remedy: `Delete records with a clean-up, or ${ASK}.` },
} as const;

export type Quota = keyof typeof QUOTAS;

const isQuota = (name: string): name is Quota => Object.hasOwn(QUOTAS, name);
export const QUOTA_NAMES: readonly Quota[] = Object.keys(QUOTAS).filter(isQuota);

/** A value for each; 0: no limit. */
export type Quotas = { readonly [quota in Quota]: number };

/** The values of one tenant, instead of the installation's. */
export type OwnQuotas = Partial<Quotas>;

/** @param changes null: the installation's value counts again */
export const changedQuotas = (before: OwnQuotas, changes: { readonly [quota in Quota]?: number | null }): OwnQuotas =>
  Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null));
