/** The command `doctor`: whether settings, files, keys, disk, event log, rows and broker are as they should be. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { checkSqliteEventStore } from '../adapters/eventstore/sqlite/logFile.js';
import type { Checked } from '../api/deps.js';
import { newId, now } from '../commands/clock.js';
import { opens, signingKeysNow } from '../commands/identity/signingKeys.js';
import { type Config, readConfig } from '../config.js';
import { signerOf } from '../domain/identity/signingKeys.js';
import { WrongExpectedRevisionError } from '../ports/eventStore.js';
import type { ParkedTenant } from '../ports/rowStore.js';
import { afterFix, parkedSentence } from '../projections/tenantTexts.js';
import { type Check, type CheckResult, checked, checkResult, type Finding, machineChecks } from '../service/checks.js';
import { openBroker } from '../service/engines.js';
import { OtherSecretsKeyError } from '../service/keys.js';
import { withTimeout } from '../supervision/deadline.js';
import { DELIVERY_QUEUE } from '../webhooks/queue.js';
import { command } from './command.js';
import { operator, type Tools, withLog } from './operator.js';
import { type RowsNow, rowsNow } from './projections.js';

export const doctor = command({
  name: 'doctor',
  about:
    'Check settings, files, keys, disk, event log, rows and broker, and give a remedy for each problem. Exits with 1 if there is one.',
  example: 'dynamic-assets doctor',
  async run() {
    const config = readConfig(process.env);
    const checks: Checked[] = [];
    for (const each of [...machineChecks(config), ...logChecks(config)])
      if (each.where.includes('doctor') && canRun(each, checks)) checks.push(await checked(each));
    return { ok: checks.every(({ findings }) => findings.length === 0), checks };
  },
  lines: ({ checks }) =>
    checks.flatMap(({ check, detail, findings }) =>
      findings.length === 0
        ? [`ok       ${check}: ${detail}`]
        : findings.flatMap(({ problem, remedy }) => [`PROBLEM  ${check}: ${problem}`, `         ${remedy}`]),
    ),
});

const AWAY = 'Check that the engine runs and that its URL is right (docs/engines.md).';

/** A damaged log is not opened, which could make it worse, and one that cannot be opened is reported once. */
type LogCheck = Check & { readonly needs?: string };
const canRun = ({ needs }: LogCheck, before: readonly Checked[]): boolean =>
  needs === undefined || before.some(({ check, detail }) => check === needs && detail !== '');

/** In this order. The log is opened by the command itself, with or without a running service. */
function logChecks(config: Config): readonly LogCheck[] {
  const where = ['doctor'] as const;
  const file = {
    name: 'event log',
    where,
    remedy: 'Run this as the user of the service.',
    find: () => logFile(config),
  };
  const check = (
    name: string,
    needs: LogCheck,
    find: (tools: Tools) => Promise<CheckResult>,
    remedy = AWAY,
  ): LogCheck => {
    return { name, where, remedy, needs: needs.name, find: () => withLog(find) };
  };
  const types = check('event types and secrets', file, directory);
  const remedy = `Set MaxAppendSize of the server to ${LARGEST_APPEND} (docs/engines.md), or lower BODY_LIMIT_BYTES.`;
  const ofServer = config.EVENTSTORE_URL === undefined ? [] : [check('append size', types, appendSize, remedy)];
  const jobs = { name: 'broker', where, remedy: AWAY, find: () => broker(config) };
  return [file, types, ...ofServer, check('rows', types, rows), jobs];
}

const ANSWER_WITHIN_MS = 10_000;
/** A follower commits several times a second. */
const MOVES_WITHIN_MS = 3_000;

/** Checks the embedded log; a server checks its own files. */
async function logFile({ DATA_DIR, EVENTSTORE_URL }: Config): Promise<CheckResult> {
  if (EVENTSTORE_URL !== undefined) return checkResult('the event log is on its own server, which checks it');
  const file = join(DATA_DIR, 'events.db');
  const remedy = 'Stop the service, keep a copy of the data directory, and restore a backup (docs/operations.md).';
  if (!existsSync(file)) return checkResult('', `There is no ${file}.`, NO_LOG);
  const { events, faults } = checkSqliteEventStore(file);
  const detail = faults.length === 0 ? `${events} events, none missing` : '';
  return { detail, findings: faults.map((problem) => ({ problem, remedy })) };
}

const NO_LOG = 'Set DATA_DIR to the directory that the service uses, or start the service once.';

/** EventStoreDB's setting takes little more. */
const LARGEST_APPEND = 16_000_000;

/** Whether the server takes an append as large as a body. Its expected revision refuses it then, so nothing is written. */
async function appendSize({ config, eventStore }: Tools): Promise<CheckResult> {
  const size = Math.min(config.BODY_LIMIT_BYTES, LARGEST_APPEND);
  const metadata = { ...operator(''), occurredAt: now(), schemaVersion: 1 };
  const data = 'x'.repeat(PROBE_BYTES);
  const events = Array.from({ length: Math.ceil(size / PROBE_BYTES) }, () => {
    return { id: newId(), type: 'LogCreated', data, metadata };
  });
  try {
    await eventStore.append('log-append-size', events, 0);
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return checkResult(`the server takes ${size} bytes`);
    throw error;
  }
  throw new Error('The server took an append that it must refuse.');
}

/** Bytes of each event that `appendSize` sends. */
const PROBE_BYTES = 900_000;

/** Tenants whose directory events cannot be applied, and secrets that cannot be opened. */
async function directory({ commands, tenants }: Tools): Promise<CheckResult> {
  const { all, parked } = await tenants();
  const findings = parked.map((each): Finding => ({ ...isParked(each), remedy: NEEDS_RELEASE }));
  const signer = signerOf(await signingKeysNow(commands));
  if (signer !== undefined && !opens(commands.secretBox, signer.sealedKey))
    findings.push({ problem: new OtherSecretsKeyError().message, remedy: NO_START });
  let secrets = 0;
  for (const { name, webhooks } of all) {
    for (const { id, sealedSecret } of webhooks.values()) {
      secrets += 1;
      if (opens(commands.secretBox, sealedSecret)) continue;
      const problem = `No key opens the signing secret of webhook ${id} of tenant ${name}.`;
      findings.push({ problem, remedy: 'Add the key that sealed it to SECRETS_KEY, or rotate the secret.' });
    }
  }
  return { detail: `${all.length} tenants, ${secrets} signing secrets that open`, findings };
}

const NO_START = 'Until then no process starts with this key, and nothing is sealed under it.';

const NEEDS_RELEASE =
  'Start a release with a fix, which continues from there. Or delete the tenant: dynamic-assets tenant delete (docs/operations.md).';

/** Rows are behind only if they make no progress. */
async function rows(tools: Tools): Promise<CheckResult> {
  const check = () => withTimeout(ANSWER_WITHIN_MS, 'The rows do not answer.', rowsNow(tools));
  const first = await check();
  if (first.behind > 0) await wait(MOVES_WITHIN_MS);
  const now = first.behind > 0 ? await check() : first;
  const standing = now.behind > 0 && isDeepStrictEqual(now, first) ? [standsStill(now)] : [];
  const parked = now.tenants.flatMap(({ tenant, parked: why }) =>
    why === undefined ? [] : [isParked({ tenant, ...why })],
  );
  const detail = first.behind === 0 ? 'they show the whole log' : 'they are catching up with the log';
  return { detail, findings: [...standing, ...parked] };
}

const standsStill = ({ position, behind }: RowsNow): Finding => ({
  problem: `Rows stand still at position ${position}, ${behind} positions behind the log.`,
  remedy: 'Start the service, or its role projector. If it runs, its log and /health/ready give the reason.',
});

const isParked = (parked: ParkedTenant): Finding => ({
  problem: `${parkedSentence(parked)} ${parked.error}`,
  remedy: afterFix(parked.tenant),
});

async function broker(config: Config): Promise<CheckResult> {
  if (config.RABBITMQ_URL === undefined && !existsSync(join(config.DATA_DIR, 'broker.db')))
    return checkResult('not used yet');
  const opened = await openBroker(config, () => undefined);
  try {
    const asked = opened.ping().then(() => opened.depth(DELIVERY_QUEUE));
    const depth = await withTimeout(ANSWER_WITHIN_MS, 'The broker does not answer.', asked);
    return checkResult(`${depth.ready} jobs are due, ${depth.delayed} are for later`);
  } finally {
    await opened.close();
  }
}
