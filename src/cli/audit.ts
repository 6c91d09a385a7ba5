import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { checkSqliteEventStore } from '../adapters/eventstore/sqlite/logFile.js';
import { openCheckpointKeys } from '../audit/checkpointKeys.js';
import { lastCheckpoint, noteKeys, verifierKeys } from '../audit/checkpoints.js';
import type { NamedEvent } from '../audit/leaf.js';
import { catchUp } from '../audit/logTree.js';
import { type Checkpoint, InvalidNoteError, type NoteKey, openNote, parseCheckpoint } from '../audit/note.js';
import { proveEvent } from '../audit/proof.js';
import { TileFiles } from '../audit/tiles.js';
import { type Verification, verifyLog } from '../audit/verify.js';
import { keyDirectory, openTree, treeDirectory } from '../service/treeFiles.js';
import { exportCommand } from './auditExport.js';
import { signNow, withLog } from './auditLog.js';
import { orderCommand } from './auditOrder.js';
import { CliError, EXIT_FAILURE } from './errors.js';
import { type JsonOption, printResult, withJson, withProgressBar } from './output.js';

export function auditCommand(): Command {
  const checkpoint = new Command('checkpoint').description(
    'Sign a checkpoint of the event log as it is now, print it, and put it into CHECKPOINT_DIR. Keep it where nobody who can change the log can change it. Works with or without a running service.',
  );
  const verify = new Command('verify')
    .description(
      'Read the event log again, and say whether it is what checkpoints say, which event is the first that is not what it was, and what still holds. Works with or without a running service. Exits with 1 if something was changed.',
    )
    .option(
      '--checkpoint <file>',
      'a checkpoint that was kept elsewhere; may be given several times. Without it, only the last one in DATA_DIR is compared, which whoever can change the log can change as well',
      (file: string, files: string[]) => [...files, file],
      [],
    );
  const keys = new Command('keys').description(
    'Print the public keys of checkpoints, as signed notes have them (c2sp.org/signed-note). Keep them with the checkpoints. The last one signs.',
  );
  const proof = new Command('proof')
    .description('Print the proof that an event is in the log as the last checkpoint covers it, with the event.')
    .argument('<event-id>', 'the id of the event');
  return new Command('audit')
    .description(
      'Evidence: all that happened to an order; checkpoints, proofs and the verification that the event log was not changed.',
    )
    .addCommand(withJson(checkpoint, 'dynamic-assets audit checkpoint > /mnt/evidence/checkpoint').action(sign))
    .addCommand(withJson(verify, 'dynamic-assets audit verify --checkpoint /mnt/evidence/checkpoint').action(check))
    .addCommand(withJson(keys, 'dynamic-assets audit keys').action(printKeys))
    .addCommand(withJson(proof, 'dynamic-assets audit proof 0193b0aa-5c1e-7c3f-8f1e-2d3c4b5a6978').action(prove))
    .addCommand(orderCommand())
    .addCommand(exportCommand());
}

const sign = (output: JsonOption): Promise<void> =>
  withLog(async (log, config) => {
    const directory = treeDirectory(config);
    const keys = await openCheckpointKeys(keyDirectory(config));
    const { tree, index } = await openTree(log, directory);
    try {
      const note = await signNow(log, tree, keys, { directory, published: config.CHECKPOINT_DIR });
      printResult(output, { checkpoint: note }, [note.trimEnd()]);
    } finally {
      index.close();
    }
  });

const printKeys = (output: JsonOption): Promise<void> =>
  withLog(async (log, config) => {
    const keys = verifierKeys(await log.identity(), await openCheckpointKeys(keyDirectory(config)));
    printResult(output, { keys }, keys);
  });

const prove = (eventId: string, output: JsonOption): Promise<void> =>
  withLog(async (log, config) => {
    const directory = treeDirectory(config);
    const { tree, index } = await openTree(log, directory);
    try {
      await catchUp(log, tree);
      const keys = await openCheckpointKeys(keyDirectory(config));
      const last = () => lastCheckpoint(directory, noteKeys(tree.log, keys));
      if ((await last()) === undefined) await signNow(log, tree, keys, { directory, published: config.CHECKPOINT_DIR });
      const checkpoint = await last();
      const { files } = tree;
      const found =
        checkpoint === undefined
          ? 'uncovered'
          : await proveEvent({ log, index, files, checkpoint }, eventId.toLowerCase(), () => true);
      if (typeof found === 'string') throw new CliError(UNPROVED[found]);
      printResult(output, { data: found }, [JSON.stringify({ data: found })]);
    } finally {
      index.close();
    }
  });

const UNPROVED = {
  unknown: 'The log has no event with this id.',
  uncovered: 'No checkpoint covers the event yet: sign one with "dynamic-assets audit checkpoint".',
  erased: 'The event has values that were erased, so it is not shown.',
  changed: 'The event is not what the checkpoint covers: run "dynamic-assets audit verify".',
} as const;

const check = ({ checkpoint: given, ...output }: JsonOption & { readonly checkpoint: string[] }): Promise<void> =>
  withLog(async (log, config) => {
    const keys = noteKeys(await log.identity(), await openCheckpointKeys(keyDirectory(config)));
    const directory = treeDirectory(config);
    const checkpoints = given.length > 0 ? await Promise.all(given.map((file) => readKept(file, keys))) : [];
    if (given.length === 0) {
      const last = await lastCheckpoint(directory, keys);
      if (last === undefined) throw new CliError('There is no checkpoint: name one with --checkpoint.');
      checkpoints.push(last);
    }
    const faults =
      config.EVENTSTORE_URL === undefined ? checkSqliteEventStore(join(config.DATA_DIR, 'events.db')).faults : [];
    const found = await withProgressBar('{bar} {percentage}%', (onProgress) =>
      verifyLog(log, new TileFiles(directory), checkpoints, onProgress),
    );
    const problems = [...problemsIn(found), ...faults];
    const ok = problems.length === 0;
    printResult(output, reportOf(found, ok, problems), [
      ...problems.map((problem) => `PROBLEM  ${problem}`),
      ...goodIn(found),
      ...(given.length === 0 ? [OWN_CHECKPOINT] : []),
    ]);
    if (!ok) process.exitCode = EXIT_FAILURE;
  });

const OWN_CHECKPOINT =
  'Compared with the last checkpoint in DATA_DIR alone: whoever can change the log can change it as well. Name one that was kept elsewhere with --checkpoint.';

async function readKept(file: string, keys: readonly NoteKey[]): Promise<Checkpoint> {
  try {
    return parseCheckpoint(openNote(await readFile(file, 'utf8'), keys));
  } catch (error) {
    if (error instanceof InvalidNoteError) throw new CliError(`${file}: ${error.message}`);
    throw error;
  }
}

const shownEvent = ({ index, type, id, stream, revision, occurredAt }: NamedEvent): string =>
  `event ${index} (${type} ${id}, revision ${revision} of ${stream}, ${occurredAt})`;

/** One sentence for each. */
export function problemsIn({ unreadable, changed, checkpoints, misdated, events, erased }: Verification): string[] {
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

const goodIn = ({ events, held, checkpoints, mended, erased }: Verification): string[] => [
  `The log has ${events} events; the first ${held} are those that were signed (${checkpoints.filter(({ holds }) => holds).length} of ${checkpoints.length} checkpoints hold).`,
  ...(erased.events === 0
    ? []
    : [
        `Of these, ${erased.events} have lost erased values: the hash of each is the one that was signed, its text is as "migrate --erase" wrote it.`,
      ]),
  ...(mended === 0 ? [] : [`${mended} damaged or missing tiles were made again.`]),
];

const reportOf = (
  { events, root, unreadable, checkpoints, held, changed, misdated, mended, erased }: Verification,
  ok: boolean,
  problems: readonly string[],
) => ({
  ok,
  problems,
  events,
  root: root.toString('base64'),
  held,
  checkpoints: checkpoints.map(({ size, holds }) => ({ size, holds })),
  unreadable: unreadable ?? null,
  changed: changed ?? null,
  misdated,
  mended,
  erased: erased.events,
});
