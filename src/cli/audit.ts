/** The commands `audit`: evidence that the event log was not changed, with or without a running service. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkSqliteEventStore } from '../adapters/eventstore/sqlite/logFile.js';
import { openCheckpointKeys } from '../audit/checkpointKeys.js';
import { ContradictionError, lastCheckpoint, makeCheckpoint, noteKeys, verifierKeys } from '../audit/checkpoints.js';
import type { NamedEvent } from '../audit/leaf.js';
import { catchUp } from '../audit/logTree.js';
import { type Checkpoint, InvalidNoteError, type NoteKey, openNote, parseCheckpoint } from '../audit/note.js';
import { TileFiles } from '../audit/tiles.js';
import { type Verification, verifyLog } from '../audit/verify.js';
import { type Config, readConfig } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { openStoredLog } from '../service/engines.js';
import { keyDirectory, openTree, treeDirectory } from '../service/treeFiles.js';
import { command, type Option, withProgressBar } from './command.js';
import { CliError } from './errors.js';
import { refuseMissingLog } from './operator.js';

/** Runs `work` with the log as stored, which must be there. */
async function withStoredLog<T>(work: (log: EventStore, config: Config) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  refuseMissingLog(config);
  await prepareDataDirectory(config);
  const log = await openStoredLog(config);
  try {
    return await work(log, config);
  } finally {
    await log.close();
  }
}

/** Signs the log as it is now. @returns the note. @throws ContradictionError */
const sign = (): Promise<string> =>
  withStoredLog(async (log, config) => {
    const directory = treeDirectory(config);
    const signingKeys = await openCheckpointKeys(keyDirectory(config));
    const { tree, index } = await openTree(log, directory);
    const signed = () => makeCheckpoint(tree, signingKeys, { directory, published: config.CHECKPOINT_DIR });
    try {
      await withProgressBar('{bar} {percentage}%', (onProgress) => catchUp(log, tree, onProgress));
      return await signed().catch(async (error: unknown) => {
        if (!(error instanceof ContradictionError)) throw error;
        // The service may have signed a longer log meanwhile.
        await catchUp(log, tree);
        return signed();
      });
    } finally {
      index.close();
    }
  });

const checkpoint = command({
  name: 'audit checkpoint',
  about:
    'Sign a checkpoint of the event log as it is now, print it, and put it into CHECKPOINT_DIR. Keep it where nobody who can change the log can change it. Works with or without a running service.',
  example: 'dynamic-assets audit checkpoint > /mnt/evidence/checkpoint',
  run: async () => ({ checkpoint: await sign() }),
  lines: ({ checkpoint: note }) => [note.trimEnd()],
});

const keys = command({
  name: 'audit keys',
  about:
    'Print the public keys of checkpoints, as signed notes have them (c2sp.org/signed-note). Keep them with the checkpoints. The last one signs.',
  example: 'dynamic-assets audit keys',
  run: () =>
    withStoredLog(async (log, config) => ({
      keys: verifierKeys(await log.identity(), await openCheckpointKeys(keyDirectory(config))),
    })),
  lines: ({ keys: all }) => all,
});

const checkpointFiles: Option<readonly string[]> = {
  value: '<file>',
  meaning:
    'a checkpoint that was kept elsewhere; may be given several times. Without it, only the last one in DATA_DIR is compared: who can change the log can change it as well',
  initial: [],
  parse: (file, files) => [...files, file],
};

const verify = command({
  name: 'audit verify',
  about:
    'Read the event log again, and say whether it is what checkpoints say, which event is the first that is not what it was, and what still holds. Works with or without a running service. Exits with 1 if something was changed.',
  example: 'dynamic-assets audit verify --checkpoint /mnt/evidence/checkpoint',
  options: { checkpoint: checkpointFiles },
  run: ({ checkpoint: given }) =>
    withStoredLog(async (log, config) => {
      const known = noteKeys(await log.identity(), await openCheckpointKeys(keyDirectory(config)));
      const directory = treeDirectory(config);
      const kept = await Promise.all(given.map((file) => readKept(file, known)));
      const last = given.length > 0 ? undefined : await lastCheckpoint(directory, known);
      const checkpoints = last === undefined ? kept : [last];
      if (checkpoints.length === 0) throw new CliError('There is no checkpoint: name one with --checkpoint.');
      const faults =
        config.EVENTSTORE_URL === undefined ? checkSqliteEventStore(join(config.DATA_DIR, 'events.db')).faults : [];
      const found = await withProgressBar('{bar} {percentage}%', (onProgress) =>
        verifyLog(log, new TileFiles(directory), checkpoints, onProgress),
      );
      return reportOf(found, [...problemsIn(found), ...faults]);
    }),
  lines: (report, { checkpoint: given }) => [
    ...report.problems.map((problem) => `PROBLEM  ${problem}`),
    ...goodIn(report),
    ...(given.length === 0 ? [OWN_CHECKPOINT] : []),
  ],
  failure: ({ ok }) => (ok ? undefined : ''),
});

export const auditCommands = [checkpoint, verify, keys];

const OWN_CHECKPOINT =
  'Compared with the last checkpoint in DATA_DIR alone: who can change the log can change it as well. Name one that was kept elsewhere with --checkpoint.';

async function readKept(file: string, keys: readonly NoteKey[]): Promise<Checkpoint> {
  try {
    return parseCheckpoint(openNote(await readFile(file, 'utf8'), keys).text);
  } catch (error) {
    if (error instanceof InvalidNoteError) throw new CliError(`${file}: ${error.message}`);
    throw error;
  }
}

const shownEvent = ({ index, type, id, stream, revision, occurredAt }: NamedEvent): string =>
  `event ${index} (${type} ${id}, revision ${revision} of ${stream}, ${occurredAt})`;

/** One sentence for each. */
function problemsIn({ unreadable, changed, checkpoints, misdated, events, erased }: Verification): string[] {
  const failing = checkpoints.filter(({ holds }) => !holds);
  return [
    ...(unreadable === undefined ? [] : [`The log cannot be read behind its first ${events} events: ${unreadable}`]),
    ...(failing.length === 0
      ? []
      : [`The log is not what the checkpoints of ${failing.map(({ size }) => size).join(', ')} events say.`]),
    ...(changed === undefined ? [] : [changedSentence(changed, events)]),
    ...erased.unnamed.map(
      (event) => `${shownEvent(event)} says that values of it were erased, but no erasure in the log names it.`,
    ),
    ...(erased.isSealed
      ? []
      : ['Events without their erased values are not those that "migrate --erase" has written.']),
    ...misdated.map(
      (event) => `The time of ${shownEvent(event)} cannot be right, as it was appended after the last checkpoint.`,
    ),
  ];
}

function changedSentence({ index, exact, now, others }: NonNullable<Verification['changed']>, events: number): string {
  if (!exact)
    return `One of the events from event ${index} on is not what it was; the stored tiles do not say which, as they are not those that the checkpoint covers.`;
  const place =
    now === undefined ? `there is none any more: the log has ${events} events` : `there is ${shownEvent(now)}`;
  const more = others === 0 ? '' : ` ${others} others behind it differ as well.`;
  return `The first event that is not what it was is event ${index}; in its place ${place}.${more}`;
}

const goodIn = ({ events, held, checkpoints, erased }: Report): string[] => [
  `The log has ${events} events; the first ${held} are those that were signed (${checkpoints.filter(({ holds }) => holds).length} of ${checkpoints.length} checkpoints hold).`,
  ...(erased === 0
    ? []
    : [
        `Of these, ${erased} have lost erased values: the hash of each is the one that was signed, its text is as "migrate --erase" wrote it.`,
      ]),
];

type Report = ReturnType<typeof reportOf>;

const reportOf = (
  { events, root, unreadable, checkpoints, held, changed, misdated, erased }: Verification,
  problems: readonly string[],
) => ({
  ok: problems.length === 0,
  problems,
  events,
  root: root.toString('base64'),
  held,
  checkpoints: checkpoints.map(({ size, holds }) => ({ size, holds })),
  unreadable: unreadable ?? null,
  changed: changed ?? null,
  misdated,
  erased: erased.events,
});
