/** Which tenant's rows an event may change. */

import type { ErasureRecorded } from './erasure.js';
import { ERASURES_STREAM, parseStream } from './streams.js';

/** Streams of which no row is made: ids that are taken, and what is of no tenant. */
const WITHOUT_ROWS: readonly string[] = ['part', 'log'];

type Recorded = { readonly stream: string; readonly type: string; readonly data: unknown };

/** Undefined: no tenant's. */
export function tenantOf({ stream, type, data }: Recorded): string | undefined {
  if (type === 'ErasureRecorded' && stream === ERASURES_STREAM) return (data as ErasureRecorded['data']).tenant;
  const { category, tenant } = parseStream(stream);
  return WITHOUT_ROWS.includes(category) ? undefined : tenant;
}

/** Whether events of the stream may change rows of these tenants. */
export function concerns(stream: string, tenants: ReadonlySet<string>): boolean {
  const { category, tenant } = parseStream(stream);
  return stream === ERASURES_STREAM || (!WITHOUT_ROWS.includes(category) && tenants.has(tenant));
}
