/** Composition root: builds a running service from its parts. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { damageOf, isMarkedDamaged, markDamaged, setAside } from './adapters/damagedFiles.js';
import { refuseDamagedLog } from './adapters/eventstore/sqlite/logFile.js';
import type { ApiConfig, ApiDeps } from './api/deps.js';
import { whileStarting } from './api/health.js';
import { startHttpServer } from './api/listen.js';
import { ServiceMetrics } from './api/metrics.js';
import { createApi, createHealthApi } from './api/server.js';
import { type Application, openApplication } from './commands/application.js';
import { newId, now } from './commands/clock.js';
import { type Config, ROLES, type Role, version } from './config.js';
import type { Directory } from './directory/directory.js';
import type { LogAnchor } from './ports/eventStore.js';
import type { RunRowJob } from './ports/rowJobs.js';
import { RowsUnavailableError } from './ports/rowStore.js';
import { type FollowerNews, Progress } from './projections/progress.js';
import { openQueries } from './queries/queries.js';
import { shownRows } from './queries/shownRows.js';
import { AuditTree } from './service/auditTree.js';
import { prepareDataDirectory } from './service/dataDirectory.js';
import { type DirectoryUse, holdRows, useDirectory, usersOf } from './service/directoryUse.js';
import {
  type EngineProbes,
  readiness,
  registerDiskMetrics,
  registerEngineMetrics,
  registerLogMetrics,
  registerQueueMetrics,
  registerRowMetrics,
  registerSetAsideMetrics,
} from './service/engineHealth.js';
import { keptCheckpoint, openBroker, openRowReads } from './service/engines.js';
import { openDirectory } from './service/openDirectory.js';
import { openOperatorParts } from './service/operatorParts.js';
import { openOwnLog, refuseOtherSource } from './service/ownLog.js';
import { openQuotas } from './service/quotas.js';
import { type OpenParts, Restartable, type RunningParts } from './service/restartable.js';
import { type RowsConfig, startRowsThread } from './service/rowsThread.js';
import { RowWatch } from './service/rowWatch.js';
import { openKeys } from './service/signingKeys.js';
import { StartProgress } from './service/startProgress.js';
import { registerTenantFigures, TenantFigures } from './service/tenantFigures.js';
import { openTokens } from './service/tokens.js';
import { observeAppends, startTracing } from './service/tracing.js';
import { openTransport, unlessHeld } from './service/webhooks.js';
import { DeliveryMetrics } from './webhooks/deliveryMetrics.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from './webhooks/queue.js';
import { relayedAnchor } from './webhooks/relay.js';
import { startWebhooks, type WebhookSettings } from './webhooks/runWebhooks.js';
import { addressPolicy, createTargetCheck } from './webhooks/targetAddress.js';

export type RunningService = {
  /** `http://127.0.0.1:3000` */
  readonly address: string;
  readonly commands: Application;
  readonly directory: Directory;
  /** Lets requests in flight finish, then closes everything. */
  stop(): Promise<void>;
};

const START_CATCH_UP_MS = 30_000;

/**
 * Starts the service in this process, or the roles of it that are named. Health and metrics are always served.
 * @param acceptLog see `openOwnLog`
 * @throws ConfigError, DirectoryInUseError, OtherLogError, UnreadableEventError, or what an engine throws, after
 *   closing everything
 */
export async function startService(
  config: Config,
  log: Logger,
  roles: ReadonlySet<Role> = new Set(ROLES),
  acceptLog = false,
): Promise<RunningService> {
  let isFirst = true;
  const stopping: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stopping.splice(0).reverse()) await each();
  };
  try {
    const use = await useOwnDirectory(config, roles, log);
    stopping.push(() => use.release());
    const tracing = await startTracing(config, log);
    stopping.push(() => tracing?.stop());
    const progress = new StartProgress();
    const openAll: OpenParts<ServiceParts> = async (onReplaced) => {
      progress.begin();
      const first = { ...config, acceptLog: acceptLog && isFirst };
      const parts = await open({ config: first, log, roles, tracer: tracing?.tracer, onReplaced, progress });
      isFirst = false;
      return parts;
    };
    const running = new Restartable(openAll, whileStarting(progress.text), log);
    stopping.push(() => running.stop());
    // Listens before the engines are open, which may take long, so that health checks are answered.
    const server = await startHttpServer(running.listener, {
      host: config.HOST,
      port: config.PORT,
      isBehindProxy: config.TRUST_PROXY > 0,
      onRefused: (refused) => {
        if (config.ACCESS_LOG === 'on') log.info(refused, 'request refused unread');
      },
    });
    stopping.push(() => server.stop());
    const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
    const address = `http://${host}:${server.port}`;
    use.listensAt(address);
    await running.start();
    return {
      address,
      get commands() {
        return running.parts.commands;
      },
      get directory() {
        return running.parts.directory;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Whether no other process may use the data directory: embedded rows belong to one process. */
const isAlone = (settings: Pick<Config, 'EVENTSTORE_URL' | 'MONGODB_URL'>, roles: ReadonlySet<Role>): boolean =>
  settings.EVENTSTORE_URL === undefined && settings.MONGODB_URL === undefined && roles.size === ROLES.length;

const useOwnDirectory = (config: Config, roles: ReadonlySet<Role>, log: Logger): Promise<DirectoryUse> => {
  const names = ROLES.filter((role) => roles.has(role));
  const shown =
    names.length === ROLES.length ? 'all roles' : `the role${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
  return useDirectory(
    config.DATA_DIR,
    { what: `a service with ${shown}`, alone: isAlone(config, roles) },
    (users, seconds) => log.warn({ users, seconds }, 'the data directory is in use; this start waits for it'),
  );
};

type ServiceParts = RunningParts & Pick<RunningService, 'commands' | 'directory'>;

type Given = {
  readonly config: RowsConfig;
  readonly log: Logger;
  readonly roles: ReadonlySet<Role>;
  readonly tracer: Tracer | undefined;
  readonly onReplaced: (places: string) => void;
  readonly progress: StartProgress;
};

/** @throws what an engine throws, after closing everything */
async function open(given: Given): Promise<ServiceParts> {
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const each of closing.splice(0).reverse()) await each();
  };
  try {
    return { ...(await openParts(given, closing)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @param closing gets a closer for each opened part; to be called in reverse order */
async function openParts(
  { config, log, roles, tracer, onReplaced, progress: startProgress }: Given,
  closing: (() => Promise<void>)[],
): Promise<Omit<ServiceParts, 'close'>> {
  const opened = <T>(part: T, close: (part: T) => Promise<void>): T => {
    closing.push(() => close(part));
    return part;
  };
  const { mended, open: stillOpen } = await prepareDataDirectory(config);
  if (mended.length > 0) log.warn({ mended }, 'others could read or write these; now only their owner can');
  if (stillOpen.length > 0)
    log.warn({ open: stillOpen }, 'others may read or write these, and this user cannot change that');
  let setAside = await setDamagedAside(config, roles, log);
  await removeEarlierReadModels(config, roles);
  let metrics: ServiceMetrics | undefined;
  const opening = openOwnLog(config, { ...config, appendsSoon: roles.has('api') });
  const ownLog = opened(await opening, (store) => store.close());
  const eventStore = observeAppends(ownLog, tracer, () => metrics?.tenants);
  const broker = roles.has('webhooks')
    ? opened(
        await openBroker(config, logs(log, 'warn', 'the message broker is interrupted, and is tried again')),
        (each) => each.close(),
      )
    : undefined;
  const check = (whose: string, place: () => Promise<LogAnchor | undefined>, onAway: (error: unknown) => void) =>
    refuseOtherSource(eventStore, whose, place, { acceptLog: config.acceptLog, onAway });
  if (broker !== undefined)
    await check(
      'The webhook jobs',
      () => relayedAnchor(broker),
      logs(log, 'warn', 'the message broker cannot be reached'),
    );
  if (config.MONGODB_URL !== undefined)
    await check('The rows', () => keptCheckpoint(config), logs(log, 'warn', 'MongoDB cannot be reached'));
  if (config.EVENTSTORE_URL !== undefined && config.MONGODB_URL === undefined)
    log.info('the rows are files of this machine; processes on several machines need MONGODB_URL as well');
  const stored = await openRowReads(config);
  const isFollowing = roles.has('projector');
  const progress = new Progress(stored, {
    isTold: isFollowing && config.MONGODB_URL === undefined,
    maxStalenessSeconds: config.READ_MAX_STALENESS_SECONDS,
  });
  const rows = opened(shownRows(stored, progress), (each) => each.close());
  if (isFollowing && config.MONGODB_URL === undefined)
    opened(await holdRows(config.DATA_DIR), async (release) => release());
  const onNews = (news: FollowerNews): void => {
    if (news.kind === 'filling' && news.aside !== undefined) setAside += 1;
    progress.tell(news);
  };
  const following = isFollowing
    ? opened(startRowsThread(config, { eventStore, log, tracer, onNews }), (each) => each.stop())
    : undefined;
  const directory = opened(await openDirectory(config, eventStore, log, onReplaced, startProgress.directory), (each) =>
    each.stop(),
  );
  const queries = openQueries({ rows, eventStore, tenants: directory });
  const secretBox = await openKeys(config, { eventStore, directory, now, newId });
  const commands = openApplication({ eventStore, queries, rows, progress, directory, secretBox, now, newId });
  const policy = addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS);
  const watch = isFollowing ? new RowWatch(eventStore, progress) : undefined;
  const names = () => Array.from(directory.tenants(), ({ name }) => name);
  metrics = new ServiceMetrics({ names, limit: config.METRICS_TENANTS });
  if (broker !== undefined) {
    const transport = opened(openTransport(config, policy), (each) => each.close());
    const deliveryMetrics = new DeliveryMetrics(metrics.registry, { directory, queries });
    const around = { logger: log, metrics: deliveryMetrics, tracer, acceptLog: config.acceptLog };
    const deps = { commands, broker, transport, settings: webhookSettings(config), ...around };
    opened(
      unlessHeld(config, log, () => startWebhooks(deps)),
      (each) => each.stop(),
    );
  }

  const isApi = roles.has('api');
  const onError = logs(log, 'warn', 'counting what tenants have in the log is interrupted, and tried again');
  const counted = { eventStore, queries, directory, metrics, isApi, onError };
  const quotas = opened(await openQuotas(config, counted), (each) => each.stop());
  const engines: EngineProbes = {
    event_store: () => eventStore.ping(),
    read_models: () =>
      stored.progress('').catch((error: unknown) => {
        throw error instanceof RowsUnavailableError ? (error.cause ?? error) : error;
      }),
    ...(broker === undefined ? {} : { broker: () => broker.ping() }),
  };
  registerEngineMetrics(metrics.registry, engines);
  registerDiskMetrics(metrics.registry, config);
  registerTenantFigures(metrics.registry, new TenantFigures({ directory, queries, metrics: metrics.tenants }));
  registerLogMetrics(metrics.registry, () => eventStore.head());
  registerSetAsideMetrics(metrics.registry, () => setAside);
  const parked = () => {
    const unknown = directory.parked();
    const names = new Set(unknown.map(({ tenant }) => tenant));
    return [...unknown, ...progress.parked().filter(({ tenant }) => !names.has(tenant))];
  };
  if (watch !== undefined) registerRowMetrics(metrics.registry, progress, () => watch.lag(), parked);
  if (broker !== undefined) registerQueueMetrics(metrics.registry, broker, [DELIVERY_QUEUE, BACKFILL_QUEUE]);
  const runJob = following?.run ?? notFollowing;
  const seen = { log, eventStore, progress, runJob, directory, broker, metrics };
  const operator = opened(openOperatorParts(config, seen), (each) => each.stop());
  const startTree = () => AuditTree.start(config, log, metrics.registry, () => eventStore.head());
  const auditTree = isApi ? opened(startTree(), (each) => each.stop()) : undefined;
  const deps: ApiDeps = {
    commands,
    queries,
    rows,
    progress,
    directory,
    tokens: openTokens(config, { eventStore, directory, secretBox, log }),
    usage: quotas.usage,
    disk: quotas.disk,
    config: apiConfig(config),
    log,
    metrics,
    tracer,
    proveEvent: async (eventId, tenant) => auditTree?.ask({ kind: 'proof', eventId, tenant }),
    exportParts: {
      checkpoint: async () => auditTree?.ask({ kind: 'checkpoint' }),
      prove: async (stream, from, note) => auditTree?.ask({ kind: 'stream', stream, from, note }),
      deliveryLogDays: config.DELIVERY_LOG_DAYS,
    },
    ready: readiness({
      engines,
      watch,
      parked,
      behind: () => progress.behind(),
      rowsFailure: () => following?.failure(),
    }),
    operator,
    checkWebhookTarget: createTargetCheck(policy),
  };
  // Answers should show everything acknowledged before the start. But the start does not wait for a long backlog or for rows
  // that are away: some requests need only the log.
  if (roles.has('api') && watch !== undefined && !(await watch.catchUp(START_CATCH_UP_MS, startProgress.rows)))
    log.warn('the rows are behind the log; /health/ready says when they have caught up');
  const app = roles.has('api') ? createApi(deps) : createHealthApi(deps);
  return { app, commands, directory };
}

/**
 * Checks the embedded engines' files before they are opened. A damaged file derived from the log is set aside, to be
 * filled again. @returns how many were @throws EventLogDamagedError
 */
async function setDamagedAside(config: Config, roles: ReadonlySet<Role>, log: Logger): Promise<number> {
  const { DATA_DIR } = config;
  if (config.EVENTSTORE_URL === undefined) refuseDamagedLog(join(DATA_DIR, 'events.db'), config.DURABILITY);
  // Another process would go on with the jobs in a file that is set aside.
  const isOnly = (await usersOf(DATA_DIR)).length <= 1;
  const hasJobs = config.RABBITMQ_URL === undefined && roles.has('webhooks') && isOnly;
  const files = hasJobs ? [join(DATA_DIR, 'broker.db')] : [];
  return files.filter((file) => isSetAside(file, log)).length;
}

/** Earlier releases kept read models of all tenants in one file. */
async function removeEarlierReadModels({ DATA_DIR, MONGODB_URL }: Config, roles: ReadonlySet<Role>): Promise<void> {
  if (MONGODB_URL !== undefined || !roles.has('projector')) return;
  for (const suffix of ['', '-wal', '-shm']) await rm(join(DATA_DIR, `readmodels.db${suffix}`), { force: true });
}

const notFollowing: RunRowJob = async () => {
  throw new Error('This process has not the role projector: ask one that has it.');
};

function isSetAside(file: string, log: Logger): boolean {
  const damage = damageOf(file);
  if (damage === undefined && !isMarkedDamaged(file)) return false;
  markDamaged(file);
  const aside = setAside(file);
  log.error({ file, aside, damage }, 'a damaged file was set aside: a new one is filled from the event log');
  return true;
}

const logs =
  (log: Logger, level: 'warn' | 'error', message: string) =>
  (error: unknown): void =>
    log[level]({ err: error }, message);

/** An attempt without an outcome this long after its time limit was interrupted by a crash. */
const CALL_MARGIN_MS = 5_000;

const webhookSettings = (config: Config): WebhookSettings => ({
  concurrency: config.WEBHOOK_CONCURRENCY,
  endpointConcurrency: config.WEBHOOK_ENDPOINT_CONCURRENCY,
  disableAfterHours: config.WEBHOOK_DISABLE_AFTER_HOURS,
  backoffMs: config.WEBHOOK_BACKOFF_MS,
  version: version(),
  attemptLimitMs: config.WEBHOOK_TIMEOUT_MS + CALL_MARGIN_MS,
});

/** Concurrent lists on MongoDB, which has its own threads. */
const MONGODB_LISTS = { atOnce: 32, ofOneTenant: 8 };

const apiConfig = (config: Config): ApiConfig => ({
  release: version(),
  baseHost: config.BASE_HOST,
  operatorHost: config.OPERATOR_HOST,
  ...(config.DEFAULT_TENANT === undefined ? {} : { defaultTenant: config.DEFAULT_TENANT }),
  trustProxy: config.TRUST_PROXY,
  corsOrigins: config.CORS_ORIGINS,
  ...(config.METRICS_TOKEN === undefined ? {} : { metricsToken: config.METRICS_TOKEN }),
  bodyLimitBytes: config.BODY_LIMIT_BYTES,
  rateLimit: {
    perSecond: config.RATE_LIMIT_PER_SECOND,
    burst: config.RATE_LIMIT_BURST === 0 ? 2 * config.RATE_LIMIT_PER_SECOND : config.RATE_LIMIT_BURST,
  },
  requestsInFlight: config.REQUESTS_IN_FLIGHT,
  signInsPerHour: config.SIGN_INS_PER_HOUR,
  accessLog: config.ACCESS_LOG === 'on',
  requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
  projectionWaitMs: config.WRITE_WAIT_MS,
  lists: { ...listsAtOnce(config), timeoutMs: config.LIST_TIMEOUT_MS },
});

/** Embedded rows have one thread more than one tenant may use. */
const listsAtOnce = (config: Config) =>
  config.MONGODB_URL === undefined
    ? { atOnce: config.READER_THREADS + 1, ofOneTenant: config.READER_THREADS }
    : MONGODB_LISTS;
