import type { ExpectedRevision, Position, Revision } from '../../../ports/eventStore.js';
import type { EncodedEvent } from './encoding.js';
import type { Durability } from './schema.js';

/** What the appender thread is started with. */
export type AppenderSettings = {
  readonly file: string;
  readonly durability: Durability;
  readonly busyTimeoutMs: number;
  /** Name of the BroadcastChannel that tells readers of a commit. */
  readonly channel: string;
};

/** One call of `append`, on its way to the appender thread. */
export type AppendRequest = {
  readonly kind: 'append';
  readonly ticket: number;
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  readonly expectedRevision: ExpectedRevision;
  /** Characters of data and metadata; what the size of a group is reckoned by. */
  readonly size: number;
};

export type AppenderMessage = AppendRequest | { readonly kind: 'close' };

export type AppendOutcome =
  | { readonly kind: 'stored'; readonly revision: Revision; readonly position: Position }
  | { readonly kind: 'conflict'; readonly actual: Revision | 'no-stream' };

/** The answer to a group of requests, sent after its commit. */
export type GroupAnswer =
  | {
      readonly kind: 'committed';
      readonly outcomes: readonly { readonly ticket: number; readonly outcome: AppendOutcome }[];
    }
  | { readonly kind: 'failed'; readonly tickets: readonly number[]; readonly reason: string };
