/** The command `migrate`: copies one event log into another, append by append, in log order, with all ids. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { mapped } from '../adapters/eventstore/everyStore.js';
import { withoutErasedBytes } from '../audit/logTree.js';
import { parseStream, tenantStream } from '../domain/streams.js';
import { type AppendResult, type EventStore, erasuresOf } from '../ports/eventStore.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { type DirectoryUse, useDirectory } from '../service/directoryUse.js';
import { openStoredLog } from '../service/engines.js';
import { heldWebhooks, holdWebhooks } from '../service/webhooks.js';
import { command, flag, list, type Option, required } from './command.js';
import { CliError, UsageError } from './errors.js';
import { appendsOf, type LogProof, proofOf, type Selection } from './logProof.js';

/** The embedded log commits appends in the order they were sent, many in one transaction. */
const EMBEDDED_APPENDS_AT_ONCE = 128;

const place = (meaning = ''): Option<string> => ({
  ...required(
    '<place>',
    `a data directory, the URL of an EventStoreDB, or env:<variable> with the URL, as for one with a password${meaning}`,
  ),
  parse(given) {
    // All users of the machine could read it.
    if (/^[^/@]*:\/\/[^/@]*:[^/@]*@/.test(given))
      throw new InvalidArgumentError(
        'Others can see a password on the command line. Set EVENTSTORE_URL to the URL, and write env:EVENTSTORE_URL here.',
      );
    if (!given.startsWith('env:')) return given;
    const url = process.env[given.slice('env:'.length)] ?? '';
    if (!isUrl(url)) throw new InvalidArgumentError('That variable holds no URL of an EventStoreDB.');
    return url;
  },
});

export const migrate = command({
  name: 'migrate',
  about: 'Copy the event log to another engine, and prove that both are equal. Stop the service first.',
  example: 'dynamic-assets migrate --from data --to "esdb://127.0.0.1:2113?tls=false"',
  options: {
    from: place(),
    to: place('; empty'),
    without: list('comma-separated deleted tenants to leave out; only their names are copied'),
    erase: flag('leave out the values that "dynamic-assets erase" has erased: their bytes are gone in the copy'),
  },
  async run({ from, to, without = [], erase }) {
    if (placeOf(from) === placeOf(to)) throw new CliError('--from and --to name the same place.');
    if (!isUrl(from) && !existsSync(join(from, 'events.db'))) throw new CliError(`There is no events.db in ${from}.`);
    const uses: DirectoryUse[] = [];
    let source: EventStore | undefined;
    try {
      // Concurrent writes of a service would be missing, or in the way.
      for (const each of [from, to].filter((each) => !isUrl(each)))
        uses.push(await useDirectory(resolve(each), 'dynamic-assets migrate', true));
      source = await open(from);
      if (erase) source = await withErasedRemoved(source);
      const isCopied = await allBut(source, without);
      keepHeld(from, to);
      return { from: shown(from), to: shown(to), ...(await copyInto(source, to, isCopied)) };
    } finally {
      await source?.close();
      for (const use of uses) use.release();
    }
  },
  lines: ({ from, to, copied, events, appends, streams, sha256 }, { erase }) => [
    `${copied} events copied from ${from} to ${to}.`,
    `Both hold ${events} events of ${appends} appends in ${streams} streams, in the same order.`,
    `SHA-256 of both: ${sha256}`,
    ...(erase ? ['The source, its backups and files of rows beside it still have what is erased: remove them.'] : []),
  ],
});

/** A copy of a copy whose webhooks are held holds them as well. */
function keepHeld(from: string, to: string): void {
  if (isUrl(from) || isUrl(to)) return;
  if (heldWebhooks({ DATA_DIR: from }) !== undefined) holdWebhooks({ DATA_DIR: to });
}

/**
 * Copies the log, then proves that both are equal.
 * @throws CliError if the target is not empty, the source grows meanwhile, or the proof fails
 */
async function copyInto(source: EventStore, to: string, isSelected: Selection) {
  const target = await open(to);
  try {
    await copyLog(source, target, isUrl(to) ? 1 : EMBEDDED_APPENDS_AT_ONCE, isSelected);
    const copy = await proofOf(target);
    requireEqual(await proofOf(source, isSelected), copy);
    return { ...copy, copied: copy.events };
  } finally {
    await target.close();
  }
}

function requireEqual(original: LogProof, copy: LogProof): void {
  if (original.events > copy.events)
    throw new CliError('The source has grown meanwhile. Stop the service that writes to it, and copy it once more.');
  if (original.sha256 !== copy.sha256) throw new CliError('The copy is not the same as the source. Do not use it.');
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

const isUrl = (given: string): boolean => /^(esdb|kurrentdb)(\+discover)?:\/\//.test(given);

const placeOf = (given: string): string => (isUrl(given) ? given : resolve(given));

/** Without user and password. */
const shown = (given: string): string => (isUrl(given) ? given.replace(/^([^/]*\/\/)[^@]*@/, '$1') : given);

async function open(given: string): Promise<EventStore> {
  const config = { DATA_DIR: resolve(given), DURABILITY: 'full' } as const;
  if (isUrl(given)) return openStoredLog({ ...config, EVENTSTORE_URL: given });
  await prepareDataDirectory(config);
  return openStoredLog({ ...config, EVENTSTORE_URL: undefined });
}

/** @param atOnce appends in flight; 1 if the target may reorder them */
async function copyLog(source: EventStore, target: EventStore, atOnce: number, isSelected: Selection): Promise<void> {
  for await (const { stream, events } of appendsOf(target))
    throw new CliError(
      `The target is not empty: it has ${events[0]?.type} ${events[0]?.id} in ${stream}. Name an empty one.`,
    );
  const revisions = new Map<string, number>();
  const sent: Promise<AppendResult>[] = [];
  for await (const { stream, events } of appendsOf(source, isSelected)) {
    const last = revisions.get(stream);
    const sending = target.append(stream, events, last ?? 'no-stream');
    // An error is thrown below; until then it must not end the process.
    sending.catch(() => undefined);
    sent.push(sending);
    revisions.set(stream, atOnce > 1 ? (last ?? -1) + events.length : (await sending).revision);
    if (sent.length >= atOnce) await Promise.all(sent.splice(0));
  }
  await Promise.all(sent);
}

/** The log, read without what is erased in it. Types of events that have erased values have one version alone. */
async function withErasedRemoved(log: EventStore): Promise<EventStore> {
  const { erasures } = await erasuresOf(log);
  return mapped(log, (event) => withoutErasedBytes(erasures, event));
}
