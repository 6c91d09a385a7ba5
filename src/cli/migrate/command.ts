import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { parseStream, tenantStream } from '../../domain/streams.js';
import type { EventStore } from '../../ports/eventStore.js';
import { prepareDataDirectory } from '../../service/dataDirectory.js';
import { type DirectoryUse, useDirectory } from '../../service/directoryUse.js';
import { openStoredLog } from '../../service/engines.js';
import { CliError, UsageError } from '../errors.js';
import type { Selection } from '../logProof.js';
import { commaSeparated, type JsonOption, printResult, withJson, withProgressBar } from '../output.js';
import { type CopyReport, type CopyTarget, copyLog } from './copyLog.js';

type MigrateOptions = JsonOption & { readonly from: string; readonly to: string; readonly without?: readonly string[] };

/** The embedded log commits appends in the order they were sent, many in one transaction. */
const EMBEDDED_APPENDS_AT_ONCE = 128;

export function migrateCommand(): Command {
  const definition = new Command('migrate')
    .description(
      'Copy the event log to another engine, and prove that both hold the same. Stop the service first. An interrupted run goes on when it is started again.',
    )
    .requiredOption('--from <place>', 'a data directory, or the URL of an EventStoreDB')
    .requiredOption(
      '--to <place>',
      'a data directory, or the URL of an EventStoreDB; empty, or from an interrupted run',
    )
    .option(
      '--without <list>',
      'comma-separated deleted tenants to leave out; only their names are copied',
      commaSeparated,
    );
  const example = 'dynamic-assets migrate --from data --to "esdb://127.0.0.1:2113?tls=false"';
  return withJson(definition, example).action(migrate);
}

async function migrate({ from, to, without = [], ...output }: MigrateOptions): Promise<void> {
  if (placeOf(from) === placeOf(to)) throw new CliError('--from and --to name the same place.');
  if (!isUrl(from) && !existsSync(join(from, 'events.db'))) throw new CliError(`There is no events.db in ${from}.`);
  const uses: DirectoryUse[] = [];
  let source: EventStore | undefined;
  try {
    // Concurrent writes of a service would be missing, or in the way.
    for (const place of [from, to].filter((each) => !isUrl(each)))
      uses.push(await useDirectory(resolve(place), { what: 'dynamic-assets migrate', alone: true }));
    source = await open(from);
    const report = await copyInto(source, to, await allBut(source, without));
    printResult(output, { from: shown(from), to: shown(to), ...report }, sentences(report, from, to));
  } finally {
    await source?.close();
    for (const use of uses) use.release();
  }
}

async function copyInto(source: EventStore, to: string, isSelected: Selection): Promise<CopyReport> {
  const target: CopyTarget = { log: await open(to), appendsAtOnce: isUrl(to) ? 1 : EMBEDDED_APPENDS_AT_ONCE };
  try {
    return await withProgressBar('{step} {bar} {percentage}%', (onProgress) =>
      copyLog(source, target, (step, at, head) => onProgress(Math.min(at, head), head, { step }), isSelected),
    );
  } finally {
    await target.log.close();
  }
}

/** The stream of a deleted tenant itself is copied, so that its name stays taken. @throws UsageError */
async function allBut(source: EventStore, without: readonly string[]): Promise<Selection> {
  for (const name of without) {
    const last = (await source.readStream(tenantStream(name))).at(-1);
    if (last?.type !== 'TenantDeleted')
      throw new UsageError(`There is no deleted tenant ${name}: only what was deleted can be left out.`);
  }
  const isLeftOut = new Set(without);
  return (stream) => {
    const { category, tenant } = parseStream(stream);
    return category === 'tenant' || category === 'log' || !isLeftOut.has(tenant);
  };
}

const isUrl = (place: string): boolean => /^(esdb|kurrentdb)(\+discover)?:\/\//.test(place);

const placeOf = (place: string): string => (isUrl(place) ? place : resolve(place));

/** Without user and password. */
const shown = (place: string): string => (isUrl(place) ? place.replace(/^([^/]*\/\/)[^@]*@/, '$1') : place);

async function open(place: string): Promise<EventStore> {
  const config = { DATA_DIR: resolve(place), DURABILITY: 'full' } as const;
  if (isUrl(place)) return openStoredLog({ ...config, EVENTSTORE_URL: place });
  await prepareDataDirectory(config);
  return openStoredLog({ ...config, EVENTSTORE_URL: undefined });
}

const sentences = ({ copied, events, appends, streams, sha256 }: CopyReport, from: string, to: string): string[] => [
  `${copied} events copied from ${shown(from)} to ${shown(to)}.`,
  `Both hold ${events} events of ${appends} appends in ${streams} streams, in the same order.`,
  `SHA-256 of both: ${sha256}`,
];
