/**
 * What an event did: the rows that it creates, patches, touches and deletes, and the line of activity that it makes. The one
 * place that interprets an event; projections, history, changes, activity, undo and erasure use it, and only decisions
 * (`evolve`) read an event's data beside it.
 */
import type { Activity } from './activity.js';
import type { AssetType } from './assetTypes/assetType.js';
import type { Fields, FieldValue } from './assetTypes/fieldTypes.js';
import type { EventOf } from './eventTypes.js';

/** One change of a space's rows. `space` is the name of a table, or of a space of the service (`domain/spaces.ts`). */
export type RowEffect =
  | {
      readonly kind: 'create';
      readonly space: string;
      readonly id: string;
      readonly batch: string | null;
      readonly fields: Fields;
    }
  /** `updated` becomes the time of the event. `batch` absent: stays. A field that is null is cleared. */
  | {
      readonly kind: 'patch';
      readonly space: string;
      readonly id: string;
      readonly batch?: string | null;
      readonly set: Fields;
      /** The values before, of the same fields; absent where the event does not have them. */
      readonly was?: Fields;
      /** Adds a member to a field that holds an object as JSON text, or changes some of the member's own members. */
      readonly merge?: {
        readonly field: string;
        readonly member: string;
        readonly with: { readonly [name: string]: unknown };
      };
    }
  /** Moves the batch id and nothing else. `from`: the batch ids before, in the order of `ids`, where the event has them. */
  | {
      readonly kind: 'touch';
      readonly space: string;
      readonly ids: readonly string[];
      readonly batch: string | null;
      readonly from?: readonly (string | null)[];
    }
  /** A row that is gone already is no error: a part may be removed with its parent. */
  | { readonly kind: 'delete'; readonly space: string; readonly id: string }
  /** Deletes each row whose batch id is not this one; rows without a batch id as well. */
  | { readonly kind: 'cleanUp'; readonly space: string; readonly batch: string; readonly deleted: number }
  /** The space exists from now on, or has other fields. */
  | { readonly kind: 'define'; readonly assetType: AssetType }
  /** Values of a row's past that are no longer shown, and what is in their place. */
  | {
      readonly kind: 'redact';
      readonly space: string;
      readonly id: string;
      readonly fields: { readonly [field: string]: FieldValue };
    }
  /** The tenant and all its rows are gone for good. */
  | { readonly kind: 'drop' };

export type Effects = {
  /** In the order in which they happened. */
  readonly rows: readonly RowEffect[];
  /** Undefined where nobody asked for the event, or another event tells of it. */
  readonly activity?: Activity | undefined;
};

/** An event as far as it is read here. `data` is upcast. */
export type ReadEvent = EventOf<string, unknown> & {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly metadata: {
    readonly tenant: string;
    readonly occurredAt: string;
    readonly actor: { readonly kind: string; readonly id: string; readonly name?: string };
    readonly correlationId: string;
    readonly causationId: string;
  };
};

/** What has to be known of the tenant: the table of its orders, and its asset types as they were before the event. */
export type KnownOfTenant = {
  readonly orderModel: string;
  readonly assetTypes: ReadonlyMap<string, AssetType>;
};
