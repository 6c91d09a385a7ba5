import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import type { EventStore } from '../ports/eventStore.js';
import { openStoredLog, prepareDataDirectory } from '../service/engines.js';
import { CliError } from './errors.js';
import { type CopyReport, type CopyTarget, copyLog } from './migrate/copyLog.js';
import { printJson, printLines } from './output.js';

type MigrateOptions = { readonly from: string; readonly to: string; readonly json?: true };

/** The embedded log commits appends in the order they were sent, many in one transaction. */
const EMBEDDED_APPENDS_AT_ONCE = 128;

export function migrateCommand(): Command {
  return new Command('migrate')
    .description(
      'Copy the event log to another engine, and prove that both hold the same. Stop the service first. An interrupted run goes on when it is started again.',
    )
    .requiredOption('--from <place>', 'a data directory, or the URL of an EventStoreDB')
    .requiredOption(
      '--to <place>',
      'a data directory, or the URL of an EventStoreDB; empty, or from an interrupted run',
    )
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ dynamic-assets migrate --from data --to "esdb://127.0.0.1:2113?tls=false"')
    .action(migrate);
}

async function migrate({ from, to, json }: MigrateOptions): Promise<void> {
  if (placeOf(from) === placeOf(to)) throw new CliError('--from and --to name the same place.');
  if (!isUrl(from) && !existsSync(join(from, 'events.db'))) throw new CliError(`There is no events.db in ${from}.`);
  const source = await open(from);
  try {
    const report = await copyInto(source, to);
    if (json) printJson({ from: shown(from), to: shown(to), ...report });
    else printLines(...sentences(report, from, to));
  } finally {
    await source.close();
  }
}

async function copyInto(source: EventStore, to: string): Promise<CopyReport> {
  const target: CopyTarget = { log: await open(to), appendsAtOnce: isUrl(to) ? 1 : EMBEDDED_APPENDS_AT_ONCE };
  const bar = new SingleBar({ format: '{step} {bar} {percentage}%', clearOnComplete: true });
  bar.start(1, 0, { step: 'compare' });
  try {
    return await copyLog(source, target, ({ step, position, head }) => {
      bar.setTotal(head);
      bar.update(Math.min(position, head), { step });
    });
  } finally {
    bar.stop();
    await target.log.close();
  }
}

const isUrl = (place: string): boolean => /^(esdb|kurrentdb)(\+discover)?:\/\//.test(place);

const placeOf = (place: string): string => (isUrl(place) ? place : resolve(place));

/** Without user and password. */
const shown = (place: string): string => (isUrl(place) ? place.replace(/\/\/[^@]*@/, '//') : place);

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
