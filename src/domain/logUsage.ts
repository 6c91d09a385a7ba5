/** The tally of what each tenant has in the log, made event by event. */
import { parseStream } from './streams.js';

/** An event as far as it is counted. */
type CountedEvent = {
  readonly stream: string;
  readonly position: number;
  readonly type: string;
  readonly bytes: number;
  /** ISO 8601, UTC. */
  readonly occurredAt: string;
};

/** `recent`: bytes by the five minutes in which the events happened, counted from 1970. */
type TenantTally = {
  readonly bytes: number;
  readonly events: number;
  readonly recent: readonly (readonly [fiveMinutes: number, bytes: number])[];
};

const FIVE_MINUTES_MS = 300_000;
/** Five minutes in an hour. */
const KEPT = 12;

/** Streams of the log itself, of no tenant. */
const OF_LOG = 'log';

export class LogTally {
  #position = 0;
  readonly #tenants = new Map<string, TenantTally>();

  /** The position up to which events are counted. */
  get position(): number {
    return this.#position;
  }

  /**
   * Counts the events of the log up to this position. Those at or before the tally's own are not counted again.
   * @param events in log order
   */
  add(events: readonly CountedEvent[], position: number): void {
    for (const event of events) if (event.position > this.#position) this.#count(event);
    this.#position = Math.max(this.#position, position);
  }

  /** A deleted tenant has nothing any more: what it had stays in the log, and nobody's quota counts it. */
  #count(event: CountedEvent): void {
    const { category, tenant } = parseStream(event.stream);
    // Strangers cause it, and must not use up a quota.
    if (category === OF_LOG || event.type === 'SignInRefused') return;
    if (event.type === 'TenantDeleted') {
      this.#tenants.delete(tenant);
      return;
    }
    const { bytes, events, recent } = this.#tenants.get(tenant) ?? { bytes: 0, events: 0, recent: [] };
    const counted = { bytes: bytes + event.bytes, events: events + 1 };
    this.#tenants.set(tenant, { ...counted, recent: withBytes(recent, event) });
  }

  of(tenant: string): Pick<TenantTally, 'bytes' | 'events'> {
    const { bytes, events } = this.#tenants.get(tenant) ?? { bytes: 0, events: 0 };
    return { bytes, events };
  }

  /** The tenant whose log grew most in the last hour; undefined if none grew. */
  largestGrower(now: number): string | undefined {
    const since = Math.floor(now / FIVE_MINUTES_MS) - KEPT;
    let [largest, most]: [string | undefined, number] = [undefined, 0];
    for (const [tenant, { recent }] of this.#tenants) {
      let grown = 0;
      for (const [at, bytes] of recent) if (at > since) grown += bytes;
      if (grown > most) [largest, most] = [tenant, grown];
    }
    return largest;
  }

  entries(): Iterable<readonly [tenant: string, tally: TenantTally]> {
    return this.#tenants.entries();
  }

  /** @param entries those of a tally at this position */
  static from(position: number, entries: Iterable<readonly [tenant: string, tally: TenantTally]>): LogTally {
    const tally = new LogTally();
    tally.#position = position;
    for (const [tenant, counted] of entries) tally.#tenants.set(tenant, counted);
    return tally;
  }
}

function withBytes(recent: TenantTally['recent'], { occurredAt, bytes }: CountedEvent): TenantTally['recent'] {
  const at = Math.floor(Date.parse(occurredAt) / FIVE_MINUTES_MS);
  const before = recent.find(([each]) => each === at)?.[1] ?? 0;
  const entries = [...recent.filter(([each]) => each !== at), [at, before + bytes] as const];
  const newest = Math.max(...entries.map(([each]) => each));
  return entries.filter(([each]) => each > newest - KEPT);
}
