/** The commands `audit`: evidence that the event log was not changed, with or without a running service. */
import { readFile } from 'node:fs/promises';
import { lastCheckpoint, makeCheckpoint, noteKeys, openCheckpointKeys, storedIn } from '../audit/checkpoints.js';
import { catchUp } from '../audit/logTree.js';
import { type Checkpoint, InvalidNoteError, type NoteKey, verifierKey } from '../audit/note.js';
import { TileFiles } from '../audit/tiles.js';
import { type NamedEvent, type Verification, verifyLog } from '../audit/verify.js';
import { type Config, readConfig } from '../config.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import { keyDirectory, openTree, treeDirectory } from '../service/auditTree.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { openStoredLog } from '../service/engines.js';
import { command, showProgress, text } from './command.js';
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

/** Signs the log as it is now. @returns the note. @throws what `makeCheckpoint` throws */
const sign = (): Promise<string> =>
  withStoredLog(async (log, config) => {
    const directory = treeDirectory(config);
    const signingKeys = await openCheckpointKeys(keyDirectory(config));
    const tree = await openTree(log, directory);
    try {
      for (;;) {
        await catchUp(log, tree);
        // The service may have signed a longer log meanwhile.
        const note = await makeCheckpoint(tree, signingKeys, { directory, published: config.CHECKPOINT_DIR });
        if (note !== undefined) return note;
      }
    } finally {
      tree.index.close();
    }
  });

const checkpoint = command({
  name: 'audit checkpoint',
  about:
    'Sign a checkpoint of the event log as it is now, print it, and put it into CHECKPOINT_DIR. Keep it where nobody who can change the log can change it.',
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
      keys: noteKeys(await log.identity(), await openCheckpointKeys(keyDirectory(config))).map(verifierKey),
    })),
  lines: ({ keys: all }) => all,
});

const verify = command({
  name: 'audit verify',
  about:
    'Read the whole event log, and name the first event that is not what a checkpoint says. Exits with 1 if there is one.',
  example: 'dynamic-assets audit verify --checkpoint /mnt/evidence/checkpoint',
  options: {
    checkpoint: text('<file>', 'a checkpoint that was kept elsewhere (default: the last one in DATA_DIR)'),
  },
  run: ({ checkpoint: given }) =>
    withStoredLog(async (log, config) => {
      const known = noteKeys(await log.identity(), await openCheckpointKeys(keyDirectory(config)));
      const directory = treeDirectory(config);
      const compared = given === undefined ? await lastCheckpoint(directory, known) : await readKept(given, known);
      if (compared === undefined) throw new CliError('There is no checkpoint: name one with --checkpoint.');
      const of = await log.head();
      const onSlice = (done: Position): void => showProgress({ tenant: null, tenants: 1, done, of });
      const found = await verifyLog(log, new TileFiles(directory), compared, onSlice);
      const problems = problemsIn(found, compared);
      const { events, holds, changed = null, erased } = found;
      return { ok: problems.length === 0, problems, events, size: compared.size, holds, changed, erased };
    }),
  lines: ({ problems, events, size, holds, erased }, { checkpoint: given }) => [
    ...problems.map((problem) => `PROBLEM  ${problem}`),
    `The log has ${events} events. The checkpoint of ${size} events ${holds ? 'holds' : 'does not hold'}.`,
    ...(erased === 0
      ? []
      : [
          `${erased} events have lost erased values: the hash of each is the one that was signed, its text is not proved.`,
        ]),
    ...(given === undefined ? [OWN_CHECKPOINT] : []),
  ],
});

export const auditCommands = [checkpoint, verify, keys];

const OWN_CHECKPOINT =
  'Compared with the last checkpoint in DATA_DIR: who can change the log can change it as well. Name one that was kept elsewhere with --checkpoint.';

async function readKept(file: string, keys: readonly NoteKey[]): Promise<Checkpoint> {
  try {
    return storedIn(await readFile(file, 'utf8'), keys);
  } catch (error) {
    if (error instanceof InvalidNoteError) throw new CliError(`${file}: ${error.message}`);
    throw error;
  }
}

const shownEvent = ({ index, type, id, stream, revision }: NamedEvent): string =>
  `event ${index} (${type} ${id}, revision ${revision} of ${stream})`;

/** One sentence for each. */
function problemsIn({ unreadable, holds, changed, events, unnamed }: Verification, { size }: Checkpoint): string[] {
  const problems: string[] = [];
  if (unreadable !== undefined)
    problems.push(`The log cannot be read behind its first ${events} events: ${unreadable}`);
  if (!holds) problems.push(`The log is not what the checkpoint of ${size} events says.`);
  if (changed !== undefined) {
    const now = changed.now === undefined ? 'there is none any more' : `there is ${shownEvent(changed.now)}`;
    problems.push(`The first event that is not what it was is event ${changed.index}; in its place ${now}.`);
  }
  if (unnamed !== undefined)
    problems.push(`${shownEvent(unnamed)} says that values of it were erased, but no erasure in the log names it.`);
  return problems;
}
