/** The answer of /health/ready: whether each engine answers, and whether the rows follow the log. */
import type { ApiDeps, ReadinessReport } from '../api/deps.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import { type ParkedTenant, type RowReads, RowsUnavailableError } from '../ports/rowStore.js';
import type { Progress } from '../projections/progress.js';
import { behindText, parkedText } from '../projections/tenantTexts.js';
import { withTimeout } from '../supervision/deadline.js';
import { singleFlight, sleep } from '../supervision/waiting.js';

/** A cheap call to each engine, by name; rejects if the engine is away. A text that it resolves with is shown. */
export type EngineProbes = { readonly [engine: string]: () => Promise<unknown> };

export const engineProbes = (
  eventStore: Pick<EventStore, 'ping'>,
  rows: RowReads,
  broker: MessageBroker | undefined,
): EngineProbes => ({
  event_store: () => eventStore.ping(),
  read_models: () =>
    rows.progress('').catch((error: unknown) => {
      throw error instanceof RowsUnavailableError ? (error.cause ?? error) : error;
    }),
  ...(broker && { broker: () => broker.ping() }),
});

type Checks = ReadinessReport['checks'];

/** The caller waits for the report, so an engine that hangs counts as away. */
const PROBE_LIMIT_MS = 3_000;

type ReadinessParts = {
  readonly engines: EngineProbes;
  /** Undefined if another process follows the log for the rows. */
  readonly watch: RowWatch | undefined;
  /** Tenants that are parked here, in rows or in the directory. */
  readonly parked: () => readonly ParkedTenant[];
  readonly behind: Progress['behind'];
  /** The last failure of the thread that follows the log; undefined while it runs. */
  readonly rowsFailure: () => Error | undefined;
};

/** Concurrent callers share one answer, because anybody may ask at any rate. */
export const readiness = (parts: ReadinessParts): ApiDeps['ready'] => singleFlight(() => report(parts));

async function report(parts: ReadinessParts): Promise<ReadinessReport> {
  const { engines, watch, parked, behind, rowsFailure } = parts;
  const projections = async (): Promise<string> => {
    const failure = rowsFailure();
    if (failure !== undefined) throw failure;
    const trouble = await watch?.trouble();
    const sentences = [trouble, parkedText(parked()), behindText(behind())];
    const text = sentences.filter((each) => each !== undefined).join(' ');
    // While some tenants are parked or behind, the service stays ready for the others.
    if (trouble !== undefined) throw new Error(text);
    return text;
  };
  const checks = await checkAll({ ...engines, projections });
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}

/** Asks all at once; never rejects. */
export async function checkAll(probes: EngineProbes): Promise<Checks> {
  const checks = Object.entries(probes).map(async ([name, probe]) => [name, await check(probe)] as const);
  return Object.fromEntries(await Promise.all(checks));
}

async function check(probe: () => Promise<unknown>): Promise<Checks[string]> {
  try {
    const detail = await answerInTime(probe());
    return typeof detail === 'string' && detail !== '' ? { ok: true, detail } : { ok: true };
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

export const answerInTime = <T>(asked: Promise<T>): Promise<T> =>
  withTimeout(PROBE_LIMIT_MS, `no answer within ${PROBE_LIMIT_MS} ms`, asked);

/** Between two looks while the start waits, in milliseconds. */
const LOOK_MS = 20;

export type RowWatch = ReturnType<typeof watchRows>;

/** Watches the rows from outside: whether they have caught up with the log since the start, and how far they are behind. */
export function watchRows(eventStore: Pick<EventStore, 'head'>, progress: Pick<Progress, 'position' | 'filling'>) {
  let hasCaughtUp = false;
  const isAt = (head: Position): boolean => {
    hasCaughtUp ||= progress.position >= head && progress.filling().size === 0;
    return hasCaughtUp;
  };
  return {
    /** Waits until the rows show the log as it is now. False after `timeoutMs`. */
    async catchUp(timeoutMs: number): Promise<boolean> {
      const head = await eventStore.head();
      const until = performance.now() + timeoutMs;
      while (!isAt(head) && performance.now() < until) await sleep(LOOK_MS);
      return hasCaughtUp;
    },
    /** Positions that the rows are behind the log. @throws what the log throws */
    lag: async (): Promise<Position> => Math.max(0, (await eventStore.head()) - progress.position),
    /** What is wrong; undefined if the rows have caught up since the start. @throws what the log throws */
    async trouble(): Promise<string | undefined> {
      const head = await eventStore.head();
      if (isAt(head)) return undefined;
      return `The rows have not caught up yet: they are at position ${progress.position} of ${head}.`;
    },
  };
}
