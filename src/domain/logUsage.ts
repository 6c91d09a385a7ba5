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

/** What happened in a time. */
export type Growth = {
  readonly bytes: number;
  /** Changes of tables, users, API clients, webhooks and other settings. */
  readonly settings: number;
  /** Backfills, and webhooks that were enabled: each sends many deliveries. */
  readonly replays: number;
};

/** `recent`: growth by the five minutes in which the events happened, counted from 1970. */
type TenantTally = {
  readonly bytes: number;
  readonly events: number;
  readonly recent: readonly (readonly [fiveMinutes: number, growth: Growth])[];
};

const NOTHING: Growth = { bytes: 0, settings: 0, replays: 0 };
const FIVE_MINUTES_MS = 300_000;
/** Five minutes in an hour. */
const KEPT = 12;

/** Streams of the log itself, of no tenant. */
const OF_LOG = 'log';
const OF_SETTINGS: readonly string[] = ['tenant', 'users', 'clients', 'webhooks'];
const REPLAYS: readonly string[] = ['WebhookBackfillRequested', 'WebhookEnabled'];

/** Only the operator sets quotas, and erases. */
const OF_OPERATOR: readonly string[] = ['QuotasChanged', 'DataErased'];

const plus = (one: Growth, other: Growth): Growth => ({
  bytes: one.bytes + other.bytes,
  settings: one.settings + other.settings,
  replays: one.replays + other.replays,
});

function growthBy({ type, bytes }: CountedEvent, category: string): Growth {
  const isReplay = REPLAYS.includes(type);
  const isSetting = !isReplay && OF_SETTINGS.includes(category) && !OF_OPERATOR.includes(type);
  return { bytes, settings: Number(isSetting), replays: Number(isReplay) };
}

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
    this.#tenants.set(tenant, { ...counted, recent: withGrowth(recent, event, growthBy(event, category)) });
  }

  of(tenant: string): Pick<TenantTally, 'bytes' | 'events'> {
    const { bytes, events } = this.#tenants.get(tenant) ?? { bytes: 0, events: 0 };
    return { bytes, events };
  }

  /** @param now milliseconds since 1970 */
  inLastHour(tenant: string, now: number): Growth {
    const since = Math.floor(now / FIVE_MINUTES_MS) - KEPT;
    return (this.#tenants.get(tenant)?.recent ?? [])
      .filter(([at]) => at > since)
      .reduce((sum, [, growth]) => plus(sum, growth), NOTHING);
  }

  /** The tenant whose log grew most in the last hour; undefined if none grew. */
  largestGrower(now: number): string | undefined {
    const since = Math.floor(now / FIVE_MINUTES_MS) - KEPT;
    let [largest, most]: [string | undefined, number] = [undefined, 0];
    for (const [tenant, { recent }] of this.#tenants) {
      let grown = 0;
      for (const [at, { bytes }] of recent) if (at > since) grown += bytes;
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

function withGrowth(recent: TenantTally['recent'], event: CountedEvent, growth: Growth): TenantTally['recent'] {
  const at = Math.floor(Date.parse(event.occurredAt) / FIVE_MINUTES_MS);
  const last = recent.at(-1);
  if (last?.[0] === at) return [...recent.slice(0, -1), [at, plus(last[1], growth)]];
  const before = recent.find(([each]) => each === at)?.[1] ?? NOTHING;
  const others = recent.filter(([each]) => each !== at && each > at - KEPT);
  const entries = [...others, [at, plus(before, growth)] as const].sort(([one], [other]) => one - other);
  const newest = entries.at(-1)?.[0] ?? at;
  return entries.filter(([each]) => each > newest - KEPT);
}
