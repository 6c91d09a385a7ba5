import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { type Config, readConfig } from '../../config.js';
import { type Checked, checked, LOOK, machineChecks, settingsCheck } from '../../service/checks.js';
import { EXIT_FAILURE } from '../errors.js';
import { withTenants } from '../operator.js';
import { type JsonOption, printResult, withJson } from '../output.js';
import { appendSize, broker, directory, logFile, quotas, rows } from './engines.js';
import { files } from './machine.js';

export function doctorCommand(): Command {
  const definition = new Command('doctor').description(
    'Check settings, files, keys, disk, event log, rows and broker, and give a remedy for each problem. Works with or without a running service. Exits with 1 if there is a problem.',
  );
  definition.option(
    '--page-seconds <number>',
    'time limit, in seconds, of the search for damaged pages in rows, broker and directory',
    secondsOption,
    PAGE_SECONDS,
  );
  return withJson(definition, 'dynamic-assets doctor').action(examine);
}

/** Enough for some 10 GB of cached rows. */
const PAGE_SECONDS = 60;

function secondsOption(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number of seconds.');
}

type DoctorOptions = JsonOption & { readonly pageSeconds: number };

async function examine({ pageSeconds, ...output }: DoctorOptions): Promise<void> {
  const config = readConfig(process.env);
  const checks = [...(await ofMachine(config, pageSeconds)), ...(await ofEngines(config))];
  const ok = checks.every(({ findings }) => findings.length === 0);
  printResult(output, { ok, checks }, checks.flatMap(linesOf));
  if (!ok) process.exitCode = EXIT_FAILURE;
}

/** What is missing is not made: it may be looked for at the wrong place. */
const ofMachine = async (config: Config, pageSeconds: number): Promise<Checked[]> => [
  await settingsCheck(config),
  ...(existsSync(config.DATA_DIR)
    ? [await checked('files', LOOK, () => files(config, pageSeconds)), ...(await machineChecks(config))]
    : []),
];

/** A missing or damaged log is not opened: that would create a new one. */
async function ofEngines(config: Config): Promise<Checked[]> {
  const log = await checked('event log', 'Run this as the user of the service.', () => logFile(config));
  const away = 'Check that the engine runs and that its URL is right (docs/engines.md).';
  const jobs = await checked('broker', away, () => broker(config));
  const canBeRead = config.EVENTSTORE_URL !== undefined || existsSync(join(config.DATA_DIR, 'events.db'));
  if (!canBeRead || log.findings.length > 0) return [log, jobs];
  const types = await checked('event types and secrets', away, () => withTenants(directory, config));
  const ofTenants = (look: typeof quotas) => () =>
    withTenants((tenants, tools) => look(config, tenants, tools), config);
  return [
    log,
    types,
    // A log that could not be opened is reported once.
    ...(types.detail === ''
      ? []
      : [
          ...(config.EVENTSTORE_URL === undefined ? [] : [await checked('append size', away, ofTenants(appendSize))]),
          await checked('quotas', away, ofTenants(quotas)),
          await checked('rows', away, ofTenants(rows)),
        ]),
    jobs,
  ];
}

function linesOf({ check, detail, findings }: Checked): string[] {
  if (findings.length === 0) return [`ok       ${check}: ${detail}`];
  return findings.flatMap(({ problem, remedy }) => [`PROBLEM  ${check}: ${problem}`, `         ${remedy}`]);
}
