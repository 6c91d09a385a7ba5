/** What the composition root gives the operator's operations, beside what all operations have. */
import type { StoredSigningKeys } from '../../domain/identity/signingKeys.js';
import type { EventStore } from '../../ports/eventStore.js';
import type { DeadLetter, QueueDepth } from '../../ports/messageBroker.js';
import type { ProjectionJobs } from '../../ports/projectionJobs.js';
import type { Parked } from '../../ports/projectionProgress.js';

/** A projection in one lane; embedded read models have one. */
export type LanePosition = {
  readonly lane: number;
  readonly position: number;
  /** Positions behind the head of the log. */
  readonly behind: number;
  /** Positions a second since an earlier look; null at the first one. */
  readonly rate: number | null;
};

export type ProjectionView = {
  readonly name: string;
  readonly head: number;
  /** Age of the oldest event that it has not applied; null if that is not known. */
  readonly seconds: number | null;
  readonly lanes: readonly LanePosition[];
};

export type QueueView = QueueDepth & { readonly name: string; readonly deadLetters: readonly DeadLetter[] };

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
  readonly jobs: ProjectionJobs;
  readonly eventStore: Pick<EventStore, 'readBackwards' | 'readSlice' | 'lastAppend' | 'positionAt'>;
  /** What the read models and the directory could not apply. */
  readonly parked: () => Promise<readonly Parked[]>;
  /** Tenants that lack older writes; `isAll` is false if there may be more. */
  readonly behind: () => Promise<{ readonly names: readonly string[]; readonly isAll: boolean } | undefined>;
  readonly projections: () => Promise<readonly ProjectionView[]>;
  /** Receivers, by `endpointKey`, to which this process sends nothing but a probe now and then. */
  readonly openCircuits: () => Promise<ReadonlySet<string>>;
  /** Undefined: the embedded queue was not made yet. */
  readonly queues: () => Promise<readonly QueueView[] | undefined>;
  readonly machine: () => Promise<MachineView>;
  readonly signingKeys: () => StoredSigningKeys;
  readonly settings: () => readonly SettingView[];
  readonly checks: () => Promise<readonly CheckView[]>;
};
