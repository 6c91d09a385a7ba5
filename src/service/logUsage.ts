/**
 * What each tenant has in the log, kept current in the memory of each process that answers requests. The tally follows
 * the log beside everything else, so no write waits for it. It is stored with its position now and then: a start goes
 * on from there, and a lost file only makes the start count more.
 */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config.js';
import { LogTally } from '../domain/logUsage.js';
import type { EventStore, LogAnchor } from '../ports/eventStore.js';
import { findLog } from '../ports/logAnchor.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { USAGE_FILE } from './dataDirectory.js';

const SAVED_EVERY_MS = 60_000;
const BACKOFF = { firstMs: 500, longestMs: 10_000 };

const count = z.number().nonnegative();
const tenantTally = z.object({
  bytes: count,
  events: count,
  recent: z.array(z.tuple([count, count])),
});
const stored = z.object({
  version: z.literal(1),
  log: z.string(),
  position: count,
  eventId: z.string().optional(),
  tenants: z.array(z.tuple([z.string(), tenantTally])),
});

type Log = Pick<EventStore, 'identity' | 'holds' | 'sizes'>;

/** The stored tally if it was made of this log, else an empty one. @throws what the event store throws */
async function load(eventStore: Log, file: string): Promise<{ readonly tally: LogTally; readonly place: LogAnchor }> {
  const log = await eventStore.identity();
  const nothing = { tally: new LogTally(), place: { log, position: 0 } };
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const found = text === undefined ? undefined : parsed(text);
  if (found === undefined) return nothing;
  const { position, eventId, tenants } = found;
  const place = { log: found.log, position, eventId };
  return (await findLog(eventStore, place)) === 'same' ? { tally: LogTally.from(position, tenants), place } : nothing;
}

function parsed(text: string): z.output<typeof stored> | undefined {
  try {
    return stored.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export class LogUsage {
  readonly #eventStore: Log;
  readonly #file: string;
  readonly #stopping = new AbortController();
  #tally = new LogTally();
  #place: LogAnchor = { position: 0 };
  #savedPosition = 0;
  #saving: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(eventStore: Log, file: string) {
    this.#eventStore = eventStore;
    this.#file = file;
  }

  /**
   * Follows the log in the background.
   * @param onError called at each interruption; it goes on by itself
   * @throws what the event store throws
   */
  static async start(
    eventStore: Log,
    { DATA_DIR }: Pick<Config, 'DATA_DIR'>,
    onError: (error: unknown) => void,
  ): Promise<LogUsage> {
    const usage = new LogUsage(eventStore, join(DATA_DIR, USAGE_FILE));
    await usage.#load();
    const { signal } = usage.#stopping;
    usage.#running = keepRunning((succeeded) => usage.#follow(signal, succeeded), {
      signal,
      backoff: BACKOFF,
      onFailure: ({ error }) => onError(error),
    });
    usage.#saving = setInterval(() => void usage.#save(), SAVED_EVERY_MS).unref();
    return usage;
  }

  /** Counts what is stored now. @throws what the event store throws */
  static async now(eventStore: Log, { DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<LogTally> {
    const { tally } = await load(eventStore, join(DATA_DIR, USAGE_FILE));
    const ending = new AbortController();
    for await (const slice of eventStore.sizes({ after: tally.position, signal: ending.signal })) {
      tally.add(slice.sizes, slice.position);
      if (slice.caughtUp) break;
    }
    ending.abort();
    return tally;
  }

  /** Counts less than there is until it has caught up with the log. */
  get tally(): LogTally {
    return this.#tally;
  }

  async stop(): Promise<void> {
    clearInterval(this.#saving);
    this.#stopping.abort();
    await this.#running;
    await this.#save();
  }

  async #load(): Promise<void> {
    const { tally, place } = await load(this.#eventStore, this.#file);
    this.#tally = tally;
    this.#place = place;
    this.#savedPosition = place.position;
  }

  async #follow(signal: AbortSignal, succeeded: () => void): Promise<void> {
    // The log was put back to an older copy: the tally counts events that it no longer has.
    if (!(await this.#eventStore.holds(this.#place))) await this.#load();
    for await (const { sizes, position, eventId } of this.#eventStore.sizes({ after: this.#tally.position, signal })) {
      succeeded();
      this.#tally.add(sizes, position);
      this.#place = { ...this.#place, position, eventId };
    }
  }

  /** A tally that cannot be stored, as on a full disk, makes the next start count more. */
  async #save(): Promise<void> {
    const { log, position, eventId } = this.#place;
    if (position <= this.#savedPosition) return;
    const draft = `${this.#file}.${process.pid}.part`;
    const tenants = [...this.#tally.entries()];
    try {
      await writeFile(draft, JSON.stringify({ version: 1, log, position, eventId, tenants }));
      await rename(draft, this.#file);
      this.#savedPosition = position;
    } catch {
      await rm(draft, { force: true }).catch(() => undefined);
    }
  }
}
