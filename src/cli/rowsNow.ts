/** How far the rows of tenants are, by what is stored with them: the same beside a running service and without one. */
import type { Config } from '../config.js';
import { tenantOf } from '../domain/tenantOf.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import type { RowReads, TenantProgress } from '../ports/rowStore.js';
import { keptCheckpoint } from '../service/engines.js';

export type TenantNow = TenantProgress & {
  readonly tenant: string;
  /** When its first event was written that the rows lack (ISO 8601); undefined: they lack none, or are parked. */
  readonly lacksSince?: string;
};

export type RowsNow = {
  readonly head: Position;
  /** The rows of all tenants show the log up to here, but those of parked ones. */
  readonly position: Position;
  readonly behind: number;
  readonly tenants: readonly TenantNow[];
};

const NO_ROWS: TenantProgress = { position: 0, state: 'filling', rows: 0 };

type Sources = {
  readonly eventStore: Pick<EventStore, 'head' | 'subscribe'>;
  readonly rows: Pick<RowReads, 'progress'>;
};

export async function rowsNow(
  config: Config,
  { eventStore, rows }: Sources,
  names: Iterable<string>,
): Promise<RowsNow> {
  const head = await eventStore.head();
  // Before the progress of tenants: they are there by then.
  const applied = Math.min((await keptCheckpoint(config))?.position ?? 0, head);
  const found = new Map<string, TenantProgress>();
  for (const name of names) found.set(name, (await rows.progress(name)) ?? NO_ROWS);
  const lacking = await firstLacking(eventStore, found, applied, head);
  const firsts = [...lacking.values()].map(({ position }) => position - 1);
  const position = Math.min(head, ...firsts);
  const tenants = [...found].map(([tenant, progress]): TenantNow => {
    const first = lacking.get(tenant);
    return { tenant, ...progress, ...(first === undefined ? {} : { lacksSince: first.since }) };
  });
  return { head, position, behind: head - position, tenants };
}

type Lacking = { readonly position: Position; readonly since: string };

/** Of each tenant that is not parked, the first event up to `head` that its rows lack. */
async function firstLacking(
  eventStore: Sources['eventStore'],
  tenants: ReadonlyMap<string, TenantProgress>,
  after: Position,
  head: Position,
): Promise<ReadonlyMap<string, Lacking>> {
  const lacking = new Map<string, Lacking>();
  const reading = new AbortController();
  if (after >= head) return lacking;
  for await (const { events, position: readTo } of eventStore.subscribe({ after, signal: reading.signal })) {
    for (const event of events) {
      const tenant = tenantOf(event) ?? '';
      const { state, position } = tenants.get(tenant) ?? { state: 'parked', position: 0 };
      if (state === 'parked' || event.position <= position || event.position > head || lacking.has(tenant)) continue;
      lacking.set(tenant, { position: event.position, since: event.metadata.occurredAt });
    }
    if (readTo >= head) break;
  }
  reading.abort();
  return lacking;
}
