/** The command `migrate`: copies one event log into another, append by append, in log order, with all ids. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { zonedDateTime } from '../domain/assetTypes/valueSchemas.js';
import { parseStream, tenantStream } from '../domain/streams.js';
import type { AppendResult, EventStore, EventToAppend, Position, RecordedEvent } from '../ports/eventStore.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { type DirectoryUse, useDirectory } from '../service/directoryUse.js';
import { openStoredLog } from '../service/engines.js';
import { heldWebhooks, holdWebhooks } from '../service/webhooks.js';
import { endedBefore } from './endedOrders.js';
import { sealErased, withErasedRemoved } from './erasedCopy.js';
import { CliError, UsageError } from './errors.js';
import { type Append, appendsOf, type LogProof, proofOf, type Selection } from './logProof.js';
import { commaSeparated, type JsonOption, printResult, withJson, withProgressBar } from './output.js';

type MigrateOptions = JsonOption & {
  readonly from: string;
  readonly to: string;
  readonly without?: readonly string[];
  readonly before?: string;
  readonly archive?: string;
  readonly erase?: true;
};

/** The embedded log commits appends in the order they were sent, many in one transaction. */
const EMBEDDED_APPENDS_AT_ONCE = 128;

export function migrateCommand(): Command {
  const definition = new Command('migrate')
    .description(
      'Copy the event log to another engine, and prove that both are equal. Stop the service first. Start an interrupted run again to continue it.',
    )
    .requiredOption('--from <place>', PLACES, place)
    .requiredOption('--to <place>', `${PLACES}; empty, or from an interrupted run`, place)
    .option(
      '--without <list>',
      'comma-separated deleted tenants to leave out; only their names are copied',
      commaSeparated,
    )
    .option(
      '--before <time>',
      'leave out orders that have ended before this time, with their deliveries; they go into the archive',
    )
    .option('--archive <directory>', 'data directory for what --before leaves out')
    .option('--erase', 'leave out the values that "dynamic-assets erase" has erased: their bytes are gone in the copy');
  const example = 'dynamic-assets migrate --from data --to "esdb://127.0.0.1:2113?tls=false"';
  return withJson(definition, example).action(migrate);
}

const PLACES =
  'a data directory, the URL of an EventStoreDB, or env:<variable> with the URL, as for one with a password';

/** @throws InvalidArgumentError for a password, which all users of the machine could read */
function place(text: string): string {
  if (/^[^/@]*:\/\/[^/@]*:[^/@]*@/.test(text))
    throw new InvalidArgumentError(
      'Others can see a password on the command line. Set EVENTSTORE_URL to the URL, and write env:EVENTSTORE_URL here.',
    );
  if (!text.startsWith('env:')) return text;
  const url = process.env[text.slice('env:'.length)] ?? '';
  if (!isUrl(url)) throw new InvalidArgumentError('That variable holds no URL of an EventStoreDB.');
  return url;
}

async function migrate({ from, to, without = [], before, archive, erase, ...output }: MigrateOptions): Promise<void> {
  if (placeOf(from) === placeOf(to)) throw new CliError('--from and --to name the same place.');
  const time = archiveTime(before, archive, [from, to]);
  if (!isUrl(from) && !existsSync(join(from, 'events.db'))) throw new CliError(`There is no events.db in ${from}.`);
  const uses: DirectoryUse[] = [];
  let source: EventStore | undefined;
  try {
    // Concurrent writes of a service would be missing, or in the way.
    for (const place of [from, to, ...(archive === undefined ? [] : [archive])].filter((each) => !isUrl(each)))
      uses.push(await useDirectory(resolve(place), { what: 'dynamic-assets migrate', alone: true }));
    source = await open(from);
    if (erase) source = await withErasedRemoved(source, true);
    const isCopied = await allBut(source, without);
    keepHeld(from, to);
    if (time === undefined || archive === undefined) {
      const report = await copyInto(source, to, isCopied, erase);
      printResult(output, { from: shown(from), to: shown(to), ...report }, sentences(report, from, to));
    } else {
      const parts = await copyInParts(source, { to, archive, time, isCopied, erase });
      const lines = [...sentences(parts.archived, from, archive), ...sentences(parts.kept, from, to)];
      const whole = `Together they are the ${parts.whole.events} events of the source, whose SHA-256 is ${parts.whole.sha256}`;
      printResult(output, { from: shown(from), to: shown(to), archive, ...parts }, [...lines, whole]);
    }
  } finally {
    await source?.close();
    for (const use of uses) use.release();
  }
}

/** A copy of a copy whose webhooks are held holds them as well. */
function keepHeld(from: string, to: string): void {
  if (isUrl(from) || isUrl(to)) return;
  const held = heldWebhooks({ DATA_DIR: from });
  if (held !== undefined) holdWebhooks({ DATA_DIR: to }, held.why);
}

/** An Idempotency-Key may name an order for so long. */
const MIN_AGE_MS = 48 * 3_600_000;

/** @returns the time as the log writes it; undefined without an archive. @throws UsageError, CliError */
function archiveTime(
  before: string | undefined,
  archive: string | undefined,
  others: readonly string[],
): string | undefined {
  if ((before === undefined) !== (archive === undefined)) throw new UsageError('--before and --archive go together.');
  if (before === undefined || archive === undefined) return undefined;
  if (isUrl(archive)) throw new UsageError('--archive names a data directory.');
  if (others.map(placeOf).includes(placeOf(archive))) throw new CliError('--archive names a place of its own.');
  const time = zonedDateTime.safeParse(before);
  if (!time.success) throw new UsageError('--before is a time with its zone, such as 2026-01-01T00:00:00Z.');
  if (Date.now() - Date.parse(time.data) < MIN_AGE_MS) throw new UsageError('--before is at least two days ago.');
  return time.data;
}

type Parting = {
  readonly to: string;
  readonly archive: string;
  readonly time: string;
  readonly isCopied: Selection;
  readonly erase: true | undefined;
};

/** @throws CliError if the parts are not the whole */
async function copyInParts(source: EventStore, { to, archive, time, isCopied, erase }: Parting) {
  const hasEnded = await withProgressBar('{step} {bar} {percentage}%', (onProgress) =>
    endedBefore(source, time, (at, head) => onProgress(at, head, { step: 'find ended orders' })),
  );
  // Its log does not know what was erased, so what it has must not need to.
  const toArchive = await withErasedRemoved(source, false);
  const archived = await copyInto(toArchive, archive, (stream) => isCopied(stream) && hasEnded(stream));
  const kept = await copyInto(source, to, (stream) => isCopied(stream) && !hasEnded(stream), erase);
  const whole = await proofOf(source, () => undefined, isCopied);
  const isWhole = (['events', 'appends', 'streams'] as const).every(
    (each) => archived[each] + kept[each] === whole[each],
  );
  if (!isWhole) throw new CliError('The two parts are not the whole source. Do not use them.');
  return { kept, archived, whole };
}

/** @param erase whether the source is read without what is erased, and the copy is sealed as it is then */
async function copyInto(source: EventStore, to: string, isSelected: Selection, erase?: true): Promise<CopyReport> {
  const target: CopyTarget = { log: await open(to), appendsAtOnce: isUrl(to) ? 1 : EMBEDDED_APPENDS_AT_ONCE };
  try {
    return await withProgressBar('{step} {bar} {percentage}%', async (onProgress) => {
      const progress: OnProgress = (step, at, head) => onProgress(Math.min(at, head), head, { step });
      const report = await copyLog(source, target, progress, isSelected);
      if (erase === undefined) return report;
      return { ...report, erased: await sealErased(target.log, (at, head) => progress('seal', at, head)) };
    });
  } finally {
    await target.log.close();
  }
}

/** The stream of a deleted tenant itself is copied, so that its name stays taken. @throws UsageError */
async function allBut(source: EventStore, without: readonly string[]): Promise<Selection> {
  for (const name of without) {
    const last = (await source.readStream(tenantStream(name))).at(-1);
    if (last?.type !== 'TenantDeleted')
      throw new UsageError(`There is no deleted tenant ${name}: only deleted tenants can be left out.`);
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

const sentences = ({ copied, events, appends, streams, sha256, erased }: CopyReport, from: string, to: string) => [
  `${copied} events copied from ${shown(from)} to ${shown(to)}.`,
  `Both hold ${events} events of ${appends} appends in ${streams} streams, in the same order.`,
  `SHA-256 of both: ${sha256}`,
  ...(erased === undefined
    ? []
    : [
        `Both without erased values: ${erased} events of the copy have lost some. The hashes of their leaves stay, so checkpoints hold.`,
        'The source, its backups and files of rows beside it still have the values: remove them.',
      ]),
];

type Step = 'compare' | 'copy' | 'prove source' | 'prove copy' | 'seal';
type OnProgress = (step: Step, position: Position, head: Position) => void;

type CopyReport = LogProof & {
  /** Events that this run wrote; an earlier run may have written others. */
  readonly copied: number;
  /** Events of the copy that have lost values; undefined without --erase. */
  readonly erased?: number;
};

type CopyTarget = {
  readonly log: EventStore;
  /** Appends in flight; 1 if the log may reorder them. */
  readonly appendsAtOnce: number;
};

/**
 * Copies what the target lacks, then proves that both are equal. After an interruption it can be run again and
 * continues: the target must be empty or a prefix of the source.
 * @param isSelected streams to copy
 * @throws CliError if the target holds something else, the source grows meanwhile, or the proof fails
 */
async function copyLog(
  source: EventStore,
  target: CopyTarget,
  onProgress: OnProgress,
  isSelected?: Selection,
): Promise<CopyReport> {
  const head = await source.head();
  const appends = appendsOf(source, head, isSelected);
  const writer = new Writer(target);
  let copied = 0;
  try {
    const isFinished = await compare(target.log, appends, (append, last) => {
      writer.revisions.set(append.stream, last.revision);
      onProgress('compare', append.position, head);
    });
    if (isFinished) {
      const proof = await proofOf(source, (at) => onProgress('prove source', at, head), isSelected);
      return { ...proof, copied: 0 };
    }
    for await (const append of appends) {
      await writer.write(append);
      copied += append.events.length;
      onProgress('copy', append.position, head);
    }
    await writer.finish();
  } finally {
    await appends.return(undefined);
  }
  return { ...(await prove(source, target.log, onProgress, isSelected)), copied };
}

/** Compares the target with the beginning of the source. @returns whether it is a finished copy without erased values */
async function compare(
  target: EventStore,
  source: AsyncGenerator<Append, undefined>,
  onSame: (append: Append, last: RecordedEvent) => void,
): Promise<boolean> {
  for await (const held of appendsOf(target, await target.head())) {
    const { value: append } = await source.next();
    const last = held.events.at(-1);
    // The run that made it had ended.
    if (append === undefined && last?.type === 'ErasedBytesRemoved') return true;
    if (append === undefined || last === undefined || !isSame(append, held)) {
      throw new CliError(
        `The target holds other events than the source: ${last?.type} ${last?.id} in ${held.stream}. ` +
          'Name an empty one, or the one that an interrupted run began to fill.',
      );
    }
    onSame(append, last);
  }
  return false;
}

const isSame = (one: Append, other: Append): boolean =>
  one.stream === other.stream &&
  one.events.length === other.events.length &&
  one.events.every(({ id }, index) => id === other.events[index]?.id);

/** Appends in order; several are in flight if the target keeps their order. */
class Writer {
  readonly #target: CopyTarget;
  /** Last revision of each stream of the target. */
  readonly revisions = new Map<string, number>();
  #sent: Promise<AppendResult>[] = [];

  constructor(target: CopyTarget) {
    this.#target = target;
  }

  async write({ stream, events }: Append): Promise<void> {
    const last = this.revisions.get(stream);
    const sent = this.#target.log.append(stream, events.map(toAppend), last ?? 'no-stream');
    this.revisions.set(stream, (last ?? -1) + events.length);
    // The error is thrown at `finish`; until then it must not end the process.
    sent.catch(() => undefined);
    this.#sent.push(sent);
    if (this.#target.appendsAtOnce === 1) this.revisions.set(stream, (await sent).revision);
    if (this.#sent.length >= this.#target.appendsAtOnce) await this.finish();
  }

  async finish(): Promise<void> {
    await Promise.all(this.#sent);
    this.#sent = [];
  }
}

const toAppend = ({ id, type, data, metadata }: RecordedEvent): EventToAppend => ({ id, type, data, metadata });

async function prove(
  source: EventStore,
  target: EventStore,
  onProgress: OnProgress,
  isSelected?: Selection,
): Promise<LogProof> {
  const copy = await proofOf(target, (at, head) => onProgress('prove copy', at, head));
  const original = await proofOf(source, (at, head) => onProgress('prove source', at, head), isSelected);
  if (original.events > copy.events) {
    throw new CliError(
      'The source has grown meanwhile. Stop the service that writes to it, and run this again to continue.',
    );
  }
  if (original.sha256 !== copy.sha256) {
    throw new CliError(
      `The copy is not the same as the source: ${copy.events} events with SHA-256 ${copy.sha256} ` +
        `instead of ${original.events} with ${original.sha256}. Do not use it.`,
    );
  }
  return copy;
}
