/** What the composition root gives the operator's operations, beside what all operations have. */
import type { StoredSigningKeys } from '../../domain/identity/signingKeys.js';
import type { EventStore, Position } from '../../ports/eventStore.js';
import type { QueueDepth } from '../../ports/messageBroker.js';
import type { ParkedTenant, TenantBehind } from '../../ports/progress.js';
import type { RowJobs } from '../../ports/rowJobs.js';

/** How far the rows of tenants are. */
export type ProjectionView = {
  readonly head: Position;
  readonly position: Position;
  /** Positions a second since an earlier look; null at the first one. */
  readonly rate: number | null;
  readonly tenantsBehind: readonly TenantBehind[];
  readonly filling: number;
};

/** `directory`: nothing of the tenant is served. */
export type ParkedView = ParkedTenant & { readonly what: 'rows' | 'directory' };

export type QueueView = QueueDepth & { readonly name: string };

/** Sizes in bytes; null where this process cannot know. */
export type MachineView = {
  readonly free: number;
  readonly size: number;
  readonly log: number | null;
  /** ISO 8601. */
  readonly lastBackupAt: string | null;
  /** Since when no webhooks are sent (ISO 8601); undefined: they are. */
  readonly webhooksHeld: string | undefined;
};

/** `findings`: what is wrong, and what to do. */
export type CheckView = {
  readonly check: string;
  readonly detail: string;
  readonly findings: readonly { readonly problem: string; readonly remedy: string }[];
};

export type SettingView = {
  readonly name: string;
  readonly value: string;
  readonly source: 'default' | 'environment';
  readonly default: string;
  readonly meaning: string;
};

export type OperatorParts = {
  readonly jobs: RowJobs;
  readonly eventStore: Pick<EventStore, 'readBackwards' | 'readSlice' | 'lastAppend'>;
  /** Tenants with an event that could not be applied. */
  readonly parked: () => readonly ParkedView[];
  readonly projection: () => Promise<ProjectionView>;
  /** Receivers, by `endpointKey`, to which this process sends nothing but a probe now and then. */
  readonly openCircuits: () => Promise<ReadonlySet<string>>;
  /** Undefined: the embedded queue was not made yet. */
  readonly queues: () => Promise<readonly QueueView[] | undefined>;
  readonly machine: () => Promise<MachineView>;
  readonly signingKeys: () => StoredSigningKeys;
  readonly settings: () => readonly SettingView[];
  readonly checks: () => Promise<readonly CheckView[]>;
};
