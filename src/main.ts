/** Composition root: opens the parts of a running service one after the other, and closes them in reverse order. */
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { TokenService } from './api/auth/tokens.js';
import type { ApiDeps } from './api/deps.js';
import { whileStarting } from './api/health.js';
import { startHttpServer } from './api/listen.js';
import { ServiceMetrics } from './api/metrics.js';
import { createApi, createHealthApi } from './api/server.js';
import { type Application, openApplication } from './commands/application.js';
import { newId, now } from './commands/clock.js';
import { type Config, ROLES, type Role, version } from './config.js';
import { isSameLog, type LogAnchor } from './ports/logAnchor.js';
import type { Directory } from './projections/directory/directory.js';
import { keepJobs } from './projections/jobs.js';
import { Progress, shownRows } from './projections/progress.js';
import { TenantUsage } from './projections/tenantUsage.js';
import { DeliveryQueries } from './queries/deliveries.js';
import { RecordQueries } from './queries/records.js';
import { startAuditTree } from './service/auditTree.js';
import { askerOf, machineChecks } from './service/checks.js';
import { openDiskReserve, prepareDataDirectory } from './service/dataDirectory.js';
import { lockRows, useOwnDirectory } from './service/directoryUse.js';
import {
  keptCheckpoint,
  openBroker,
  openDirectory,
  openRowReads,
  READER_THREADS,
  removeDamaged,
} from './service/engines.js';
import { ownChecks, parkedTenants, readiness, registerFigures, watchRows } from './service/health.js';
import { openKeys } from './service/keys.js';
import { openOwnLog } from './service/ownLog.js';
import { startRowsThread } from './service/rowsThread.js';
import { startTracing, traceAppends } from './service/tracing.js';
import { HOW_TO_RESUME, heldSentence, heldWebhooks, openTransport, webhookSettings } from './service/webhooks.js';
import { DeliveryMetrics } from './webhooks/deliveryMetrics.js';
import { relayedAnchor } from './webhooks/relay.js';
import { startWebhooks } from './webhooks/runWebhooks.js';
import { addressPolicy, createTargetCheck } from './webhooks/targetAddress.js';

export type RunningService = {
  /** `http://127.0.0.1:3000` */
  readonly address: string;
  readonly commands: Application;
  readonly directory: Directory;
  /** Resolves if the log turns out to be an older copy or another one: what is in memory is of the former. */
  readonly replaced: Promise<void>;
  /** Lets requests in flight finish, then closes everything. */
  stop(): Promise<void>;
};

const START_CATCH_UP_MS = 30_000;

/** What is open, in the order of opening. */
class OpenParts {
  readonly #closing: (() => Promise<void> | void)[] = [];

  add<T>(part: T, close: (part: T) => Promise<void> | void): T {
    this.#closing.push(() => close(part));
    return part;
  }

  /** Closes all of them, whatever one throws. @throws the first error */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const each of this.#closing.splice(0).reverse())
      await (async () => each())().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}

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
  const parts = new OpenParts();
  try {
    const use = parts.add(await useOwnDirectory(config, roles), (each) => each.release());
    const { HOST: host, PORT: port } = config;
    let serve: RequestListener = whileStarting;
    // Listens before the engines are open, which may take long, so that health checks are answered.
    const server = await startHttpServer((req, res) => serve(req, res), { host, port });
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
    use.listensAt(address);
    const opened = await openParts(parts, config, log, roles, acceptLog).catch(async (error: unknown) => {
      await server.stop();
      throw error;
    });
    serve = opened.app;
    // No request comes any more when the other parts are closed.
    parts.add(server, (each) => each.stop());
    return { ...opened, address, stop: () => parts.close() };
  } catch (error) {
    // The first error says why.
    await parts.close().catch(() => undefined);
    throw error;
  }
}

/** @param parts gets each opened part */
async function openParts(parts: OpenParts, config: Config, log: Logger, roles: ReadonlySet<Role>, acceptLog: boolean) {
  const tracer = parts.add(await startTracing(config, log), (each) => each?.stop())?.tracer;
  const says = (message: string) => (error: unknown) => log.warn({ err: error }, message);
  const open = await prepareDataDirectory(config);
  if (open !== undefined) log.warn(open);
  removeDamaged(config, roles.has('webhooks'), log);
  const isApi = roles.has('api');
  const isFollowing = roles.has('projector');
  const isEmbedded = config.MONGODB_URL === undefined;

  const ownLog = parts.add(await openOwnLog(config, acceptLog), (each) => each.close());
  const eventStore = traceAppends(ownLog, tracer);
  const onInterruption = says('the message broker is interrupted, and is tried again');
  const broker = roles.has('webhooks')
    ? parts.add(await openBroker(config, onInterruption), (each) => each.close())
    : undefined;
  // If the engine is away, its users check when it is back.
  const check = async (whose: string, place: () => Promise<LogAnchor | undefined>, away: string) => {
    const kept = await place().catch(says(away));
    if (kept !== undefined) await isSameLog(eventStore, kept, { whose, acceptLog });
  };
  if (broker !== undefined)
    await check('The webhook jobs', () => relayedAnchor(broker), 'the message broker cannot be reached');

  const stored = await openRowReads(config);
  const progress = new Progress(stored, { isTold: isFollowing && isEmbedded });
  const rows = parts.add(shownRows(stored, progress), (each) => each.close());
  if (!isEmbedded) await check('The rows', () => keptCheckpoint(config), 'MongoDB cannot be reached');
  else if (config.EVENTSTORE_URL !== undefined)
    log.info('the rows are files of this machine: several machines need MONGODB_URL');
  if (isFollowing && isEmbedded) parts.add(await lockRows(config.DATA_DIR), (release) => release());
  const following = isFollowing
    ? parts.add(
        startRowsThread({ ...config, acceptLog }, log, (news) => progress.tell(news)),
        (each) => each.stop(),
      )
    : undefined;
  const watch = isFollowing ? watchRows(eventStore, progress) : undefined;

  let tellReplaced = (): void => undefined;
  const replaced = new Promise<void>((resolve) => {
    tellReplaced = resolve;
  });
  const directory = parts.add(await openDirectory(config, eventStore, log, tellReplaced), (each) => each.stop());
  const queries = { records: new RecordQueries(rows, directory), deliveries: new DeliveryQueries(rows) };
  const secretBox = await openKeys(config, { eventStore, directory, now, newId });
  const commands = openApplication({ eventStore, queries, rows, progress, directory, secretBox, now, newId });
  const policy = addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS);
  const metrics = new ServiceMetrics();
  if (broker !== undefined) {
    const transport = parts.add(openTransport(config, policy), (each) => each.close());
    const deliveryMetrics = new DeliveryMetrics(metrics.registry, { directory, queries });
    const tools = { logger: log, metrics: deliveryMetrics, tracer, acceptLog };
    const deps = { commands, broker, transport, settings: webhookSettings(config), ...tools };
    const held = heldWebhooks(config);
    if (held === undefined) parts.add(startWebhooks(deps), (each) => each.stop());
    else log.warn(`${heldSentence(held)} ${HOW_TO_RESUME}`);
  }

  const usage = new TenantUsage(rows, { logBytes: config.QUOTA_LOG_BYTES, records: config.QUOTA_RECORDS });
  const parked = () => parkedTenants(directory, progress);
  const [behind, rowsFailure] = [() => progress.behind(), () => following?.failure()];
  const running = { eventStore, rows: stored, broker, watch, parked, behind, rowsFailure };
  const ask = askerOf([...ownChecks(running), ...machineChecks(config)]);
  const tree = isApi ? parts.add(startAuditTree(config, log, metrics.registry), (each) => each.stop()) : undefined;
  const jobs = keepJobs({ rows: following?.run, log: tree?.run }, log);
  registerFigures(metrics.registry, config, { ...running, ask, jobs });
  const deps: ApiDeps = {
    commands,
    queries,
    rows,
    progress,
    directory,
    tokens: new TokenService(config, {
      stored: () => directory.signingKeys,
      secretBox,
      refresh: () => directory.refresh(),
      onUnopenable: (kid) =>
        log.error({ kid }, 'a signing key cannot be opened: another process has a SECRETS_KEY that this one lacks'),
    }),
    usage,
    disk: parts.add(openDiskReserve(config), (each) => each.stop()),
    config,
    version: version(),
    // Embedded rows have one thread more than one tenant may use; MongoDB has its own threads.
    lists: isEmbedded ? { atOnce: READER_THREADS + 1, ofGroup: READER_THREADS } : { atOnce: 32, ofGroup: 8 },
    log,
    metrics,
    tracer,
    askTree: tree?.ask ?? (async () => undefined),
    ready: readiness(ask),
    operator: { jobs, eventStore, parked, checks: () => ask('console') },
    checkWebhookTarget: createTargetCheck(policy),
  };
  // Its last figures are of engines that are open.
  parts.add(metrics, (each) => each.stop());
  // Answers should show everything acknowledged before the start. But the start does not wait for a long backlog or for rows
  // that are away: some requests need only the log.
  if (isApi && watch !== undefined && !(await watch.catchUp(START_CATCH_UP_MS)))
    log.warn('the rows are behind the log; /health/ready says when they have caught up');
  return { app: isApi ? createApi(deps) : createHealthApi(deps), commands, directory, replaced };
}
