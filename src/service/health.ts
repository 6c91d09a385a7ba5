/** What a running process says of itself: the checks of its engines and rows, the answer of /health/ready, and figures. */
import type { Registry } from 'prom-client';
import type { ApiDeps } from '../api/deps.js';
import type { Config } from '../config.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import { type ParkedTenant, type RowReads, RowsUnavailableError } from '../ports/rowStore.js';
import type { Directory } from '../projections/directory/directory.js';
import { JOB_KINDS, type Jobs } from '../projections/jobs.js';
import type { Progress } from '../projections/progress.js';
import { behindText, parkedText } from '../projections/tenantTexts.js';
import { withTimeout } from '../supervision/deadline.js';
import { one, registerGauges, type Values } from '../supervision/gauges.js';
import { singleFlight, sleep } from '../supervision/waiting.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from '../webhooks/queue.js';
import { type AskChecks, type Check, checkResult } from './checks.js';
import { diskOf, lastBackupAt } from './dataDirectory.js';

/** The caller waits for the answer, so an engine that hangs counts as away. */
const PROBE_LIMIT_MS = 3_000;

const answerInTime = <T>(asked: Promise<T>): Promise<T> =>
  withTimeout(PROBE_LIMIT_MS, `no answer within ${PROBE_LIMIT_MS} ms`, asked);

/** Whether it can be asked now, by a cheap call: who asks meanwhile shares the answer. */
const check = (name: string, where: Check['where'], find: () => Promise<unknown>): Check => ({
  name,
  where,
  remedy: '',
  find: singleFlight(async () => {
    const detail = await answerInTime(find());
    return checkResult(typeof detail === 'string' ? detail : '');
  }),
});

type Running = {
  readonly eventStore: Pick<EventStore, 'ping' | 'head'>;
  readonly rows: RowReads;
  readonly broker: MessageBroker | undefined;
  /** Undefined if another process follows the log for the rows. */
  readonly watch: RowWatch | undefined;
  /** Tenants that are parked here, in rows or in the directory. */
  readonly parked: () => readonly ParkedTenant[];
  readonly behind: Progress['behind'];
  /** The last failure of the thread that follows the log; undefined while it runs. */
  readonly rowsFailure: () => Error | undefined;
};

/** Of the engines, by the names that /metrics give them, and of the rows. */
export function ownChecks({ eventStore, rows, broker, watch, parked, behind, rowsFailure }: Running): readonly Check[] {
  const where = ['ready', 'metrics', 'console'] as const;
  return [
    check('event_store', where, () => eventStore.ping()),
    check('read_models', where, () =>
      rows.progress('').catch((error: unknown) => {
        throw error instanceof RowsUnavailableError ? (error.cause ?? error) : error;
      }),
    ),
    ...(broker === undefined ? [] : [check('broker', where, () => broker.ping())]),
    check('projections', ['ready', 'console'], async () => {
      const failure = rowsFailure();
      if (failure !== undefined) throw failure;
      const trouble = await watch?.trouble();
      const sentences = [trouble, parkedText(parked()), behindText(behind())];
      const text = sentences.filter((each) => each !== undefined).join(' ');
      // While some tenants are parked or behind, the service stays ready for the others.
      if (trouble !== undefined) throw new Error(text);
      return text;
    }),
  ];
}

/** Each parked tenant once: one that is parked in the directory may be in its rows too. */
export function parkedTenants(directory: Directory, progress: Progress) {
  const ofDirectory = directory.parked().map((each) => ({ ...each, what: 'directory' as const }));
  const names = new Set(ofDirectory.map(({ tenant }) => tenant));
  const ofRows = progress.parked().filter(({ tenant }) => !names.has(tenant));
  return [...ofDirectory, ...ofRows.map((each) => ({ ...each, what: 'rows' as const }))];
}

/** Concurrent callers share one answer, because anybody may ask at any rate. */
export const readiness = (ask: AskChecks): ApiDeps['ready'] =>
  singleFlight(async () => {
    const checks = (await ask('ready')).map(({ check, detail, findings: [found] }) => {
      const said = found?.problem ?? detail;
      return [check, { ok: found === undefined, ...(said !== '' && { detail: said }) }] as const;
    });
    return { ready: checks.every(([, { ok }]) => ok), checks: Object.fromEntries(checks) };
  });

/** Milliseconds between two questions while the start waits. */
const ASK_MS = 20;

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
      while (!isAt(head) && performance.now() < until) await sleep(ASK_MS);
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

type Seen = Running & { readonly ask: AskChecks; readonly jobs: Jobs };

/** What `/metrics` says of engines, disk, rows and queues. */
export function registerFigures(registry: Registry, { DATA_DIR }: Config, seen: Seen): void {
  const { ask, eventStore, watch, parked, broker, jobs } = seen;
  registerGauges(registry, {
    engine_up: [
      '1 when the engine answers, 0 when it is away.',
      async () =>
        (await ask('metrics')).map(({ check, findings }) => [{ engine: check }, findings.length === 0 ? 1 : 0]),
      'engine',
    ],
    data_directory_free_bytes: [
      'What the service may still write on the disk of DATA_DIR.',
      async () => one((await diskOf(DATA_DIR)).free),
    ],
    data_directory_size_bytes: ['Size of the disk of DATA_DIR.', async () => one((await diskOf(DATA_DIR)).size)],
    backup_last_timestamp_seconds: [
      'When "dynamic-assets backup" was last done with this DATA_DIR, in seconds since 1970; 0 where it never was.',
      async () => one(((await lastBackupAt(DATA_DIR)) ?? 0) / 1000),
    ],
    event_log_position: [
      'Position of the last event in the log, 0 while it is empty.',
      async () => one(await eventStore.head()),
    ],
    operator_jobs: [
      "The state of operators' last job of each kind: 1.",
      () =>
        JOB_KINDS.flatMap((kind) => jobs.all().find((job) => job.kind === kind) ?? []).map(({ kind, state }) => [
          { kind, state },
          1,
        ]),
      'kind',
      'state',
    ],
    ...(watch && {
      projection_lag_events: [
        'Positions of the log that the rows of tenants lack.',
        async () => one(await watch.lag()),
      ],
      projections_parked: ['Tenants parked at an event that could not be applied.', () => one(parked().length)],
    }),
    ...(broker && {
      queue_messages: ['Messages in a queue: ready, delayed, in work.', () => ofQueues(broker), 'queue', 'state'],
    }),
  });
}

/** engine_up reports a broker that is away. */
async function ofQueues(broker: MessageBroker): Promise<Values> {
  const queues = [DELIVERY_QUEUE, BACKFILL_QUEUE].map(async (queue) => {
    const { ready, delayed, inFlight } = await answerInTime(broker.depth(queue));
    return Object.entries({ ready, delayed, in_work: inFlight }).map(([state, n]) => [{ queue, state }, n] as const);
  });
  return (await Promise.all(queues)).flat();
}
