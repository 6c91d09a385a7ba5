/** Composition root: puts the parts together into a running service, or into what a command of the CLI needs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { SigningKeys } from './api/auth/signingKeys.js';
import { TokenService } from './api/auth/tokens.js';
import type { ApiDeps, ReadinessReport } from './api/deps.js';
import { startHttpServer } from './api/listen.js';
import { ServiceMetrics } from './api/metrics.js';
import { createApi } from './api/server.js';
import { newId, now } from './commands/clock.js';
import type { Commands, SecretBox } from './commands/context.js';
import type { DirectoryCommands } from './commands/identity/directoryWriter.js';
import type { Config } from './config.js';
import { openBroker, openEventStore, openReadModels, openReadModelWriter, prepareDataDirectory } from './engines.js';
import { installationKey } from './installationKey.js';
import type { EventStore } from './ports/eventStore.js';
import type { ReadModels, RebuildScope } from './ports/readModels.js';
import { Directory } from './projections/directory/directory.js';
import { type ProjectionStatus, projectionStatus } from './projections/projections.js';
import { ProjectionWatch } from './projections/projectionWatch.js';
import { type RebuildProgress, type RebuildReport, rebuildProjection } from './projections/rebuild.js';
import { ProjectorThread } from './projectorThread.js';
import { createHttpsTransport } from './webhooks/httpsTransport.js';
import { startWebhooks } from './webhooks/runWebhooks.js';
import { createSecretBox } from './webhooks/secretBox.js';
import { addressPolicy, createTargetCheck, type TargetCheck } from './webhooks/targetAddress.js';

export type RunningService = {
  /** `http://127.0.0.1:3000` */
  readonly address: string;
  readonly commands: Commands;
  readonly directory: Directory;
  /** Requests in flight finish, then everything is closed. */
  stop(): Promise<void>;
};

const SESSION_SECONDS = 8 * 3600;
const TOKEN_FAILURES_PER_MINUTE = 20;
const START_CATCH_UP_MS = 30_000;

/** Starts the whole service in this process. @throws ConfigError, UnreadableEventError, or what an engine throws */
export async function startService(config: Config, log: Logger): Promise<RunningService> {
  await prepareDataDirectory(config);
  const eventStore = await openEventStore(config);
  const projector = new ProjectorThread(config, log);
  const readModels = await openReadModels(config);
  const broker = await openBroker(config);
  const directory = await Directory.start(eventStore, (error) =>
    log.error({ err: error }, 'the directory of tenants is interrupted, and tries again'),
  );
  const secretBox = createSecretBox(await installationKey(config));
  const commands: Commands = { eventStore, readModels, directory, secretBox, now, newId };
  const policy = addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS);
  const transport = createHttpsTransport({
    policy,
    totalTimeoutMs: config.WEBHOOK_TIMEOUT_MS,
    ...(config.WEBHOOK_CA_FILE === undefined ? {} : { caPem: readFileSync(config.WEBHOOK_CA_FILE, 'utf8') }),
  });
  const settings = {
    concurrency: config.WEBHOOK_CONCURRENCY,
    backoffMs: config.WEBHOOK_BACKOFF_MS,
    version: version(),
  };
  const webhooks = startWebhooks({ commands, broker, transport, settings, logger: log });

  const api = createApi({
    ...(await apiDeps(config, log, commands, projector)),
    checkWebhookTarget: createTargetCheck(policy),
  });
  await catchUp(eventStore, readModels, log);
  const server = await startHttpServer(api, { host: config.HOST, port: config.PORT });
  return {
    address: `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${server.port}`,
    commands,
    directory,
    async stop() {
      await server.stop();
      await webhooks.stop();
      await transport.close();
      await directory.stop();
      await projector.stop();
      await readModels.close();
      await broker.close();
      await eventStore.close();
    },
  };
}

/** Answers should show what was acknowledged before the start; a long backlog does not hold up the start for ever. */
async function catchUp(eventStore: EventStore, readModels: ReadModels, log: Logger): Promise<void> {
  const current = await new ProjectionWatch(eventStore, readModels).catchUp(START_CATCH_UP_MS);
  if (!current) log.warn('the read models are behind the log; /health/ready says when they have caught up');
}

async function apiDeps(
  config: Config,
  log: Logger,
  commands: Commands,
  projector: ProjectorThread,
): Promise<Omit<ApiDeps, 'checkWebhookTarget'>> {
  const watch = new ProjectionWatch(commands.eventStore, commands.readModels);
  const keys = await SigningKeys.open(join(config.DATA_DIR, 'keys'));
  const issuer = `https://${config.BASE_HOST}`;
  return {
    commands,
    readModels: commands.readModels,
    directory: commands.directory,
    tokens: new TokenService(keys, {
      issuer,
      tokenTtlSeconds: config.TOKEN_TTL_SECONDS,
      sessionTtlSeconds: SESSION_SECONDS,
    }),
    config: {
      baseHost: config.BASE_HOST.toLowerCase(),
      ...(config.DEFAULT_TENANT === undefined ? {} : { defaultTenant: config.DEFAULT_TENANT }),
      trustProxy: config.TRUST_PROXY,
      bodyLimitBytes: config.BODY_LIMIT_BYTES,
      rateLimit: {
        perSecond: config.RATE_LIMIT_PER_SECOND,
        burst: config.RATE_LIMIT_BURST === 0 ? 2 * config.RATE_LIMIT_PER_SECOND : config.RATE_LIMIT_BURST,
      },
      tokenFailuresPerMinute: TOKEN_FAILURES_PER_MINUTE,
      projectionWaitMs: config.WRITE_WAIT_MS,
    },
    log,
    metrics: new ServiceMetrics(() => watch.lag()),
    ready: () => readiness(watch, commands, projector),
  };
}

async function readiness(
  watch: ProjectionWatch,
  commands: Commands,
  projector: ProjectorThread,
): Promise<ReadinessReport> {
  const eventLog = await check(() => commands.eventStore.head());
  const reading = await check(() => commands.readModels.checkpoint('records'));
  const trouble = projector.failure?.message ?? (await watch.trouble().catch(String));
  const projecting = trouble === undefined ? { ok: true } : { ok: false, detail: trouble };
  const checks = { event_store: eventLog, read_models: reading, projections: projecting };
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}

async function check(probe: () => Promise<unknown>): Promise<{ readonly ok: boolean; readonly detail?: string }> {
  try {
    await probe();
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

export function version(): string {
  const parsed: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : 'unknown';
}

export type DirectoryTools = {
  readonly commands: DirectoryCommands;
  readonly directory: Directory;
  readonly secretBox: SecretBox;
  readonly checkTarget: TargetCheck;
  close(): Promise<void>;
};

/** For the command line: tenants, clients, users and webhooks, beside a running service or without one. */
export async function openDirectoryCommands(config: Config): Promise<DirectoryTools> {
  await prepareDataDirectory(config);
  const eventStore = await openEventStore(config);
  const directory = await Directory.start(eventStore, () => {});
  return {
    commands: { eventStore, directory, now, newId },
    directory,
    secretBox: createSecretBox(await installationKey(config)),
    checkTarget: createTargetCheck(addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS)),
    async close() {
      await directory.stop();
      await eventStore.close();
    },
  };
}

export type ProjectionTools = {
  status(): Promise<readonly ProjectionStatus[]>;
  rebuild(scope: RebuildScope, onProgress?: (progress: RebuildProgress) => void): Promise<RebuildReport>;
  close(): Promise<void>;
};

/** For the command line: the log and the read models' write side. */
export async function openProjectionTools(config: Config): Promise<ProjectionTools> {
  await prepareDataDirectory(config);
  const eventStore = await openEventStore(config);
  const writer = await openReadModelWriter(config);
  const deps = { eventStore, writer };
  return {
    status: () => projectionStatus(deps),
    rebuild: (scope, onProgress) => rebuildProjection(deps, scope, onProgress),
    async close() {
      await writer.close();
      await eventStore.close();
    },
  };
}
