/** The thread of the tree over the log: makes it, signs checkpoints, and proves events. */
import { workerData } from 'node:worker_threads';
import { openCheckpointKeys } from '../audit/checkpointKeys.js';
import { lastCheckpoint, makeCheckpoint, noteKeys, type StoredCheckpoint } from '../audit/checkpoints.js';
import { keepTree, oneAtATime } from '../audit/keepTree.js';
import { clearTree } from '../audit/logTree.js';
import { openNote, parseCheckpoint } from '../audit/note.js';
import { proveEvent, proveStream } from '../audit/proof.js';
import { DamagedTileError } from '../audit/tiles.js';
import { isProvable, parseStream } from '../domain/streams.js';
import { sleep } from '../supervision/waiting.js';
import type { TreeMessages, TreeQuestion, TreeThreadData } from './auditTree.js';
import { openStoredLog } from './engines.js';
import { insideThread } from './thread.js';
import { keyDirectory, openTree, treeDirectory } from './treeFiles.js';

/** How long a question waits for the latest events to be in the tree, and how often it looks. */
const CATCH_UP_MS = 2_000;
const LOOK_MS = 50;

const config = workerData as TreeThreadData;
const directory = treeDirectory(config);
const thread = insideThread<TreeMessages>();
const { signal } = thread.stopping;

let isDamaged = false;

/** The thread that is started next goes on from what is stored; where a tile is damaged, it makes all of it again. */
function fail(error: unknown): void {
  isDamaged ||= error instanceof DamagedTileError;
  thread.fail(error);
  thread.stopping.abort();
}

// As stored: a leaf must not change with a release that reads older events in another shape.
const log = await openStoredLog(config);
const { tree, index } = await openTree(log, directory).catch(async (error: unknown) => {
  await log.close();
  throw error;
});
const keys = await openCheckpointKeys(keyDirectory(config));

const places = { directory, published: config.CHECKPOINT_DIR };
const writing = oneAtATime();
const proving = oneAtATime();
/** Until it is signed: the tiles that earlier checkpoints need beside the full ones are gone. */
let isMadeAgain = tree.position === 0;
thread.serve((question) =>
  proving.add(() =>
    answerTo(question).catch((error: unknown) => {
      fail(error);
      return undefined;
    }),
  ),
);

/** @returns undefined while the tree is being made, and does not have all events yet */
async function answerTo(question: TreeQuestion): Promise<TreeMessages['answer']> {
  const known = noteKeys(tree.log, keys);
  const { files } = tree;
  if (isMadeAgain && (await lastCheckpoint(directory, known)) !== undefined) {
    if (!(await isCaughtUpSoon())) return undefined;
    await signNow(known);
  }
  switch (question.kind) {
    case 'proof': {
      const { eventId, tenant } = question;
      const isShown = (stream: string): boolean => parseStream(stream).tenant === tenant && isProvable(stream);
      const checkpoint = (await lastCheckpoint(directory, known)) ?? (await signNow(known));
      if (checkpoint === undefined) return 'uncovered';
      const prove = () => proveEvent({ log, index, files, checkpoint }, eventId, isShown);
      const proved = await prove();
      if (proved !== 'unknown') return proved;
      return (await isCaughtUpSoon()) ? prove() : undefined;
    }
    case 'checkpoint': {
      const last = await lastCheckpoint(directory, known);
      return last === undefined ? 'none' : { note: last.note, key: last.key };
    }
    case 'stream': {
      const { stream, from, note } = question;
      const checkpoint = note === undefined ? undefined : { ...parseCheckpoint(openNote(note, known).text), note };
      return proveStream({ log, index, files, checkpoint }, stream, from);
    }
  }
}

/** Whether the tree and its index soon have all events of the log as it is now: the latest ones are always under way. */
async function isCaughtUpSoon(): Promise<boolean> {
  const head = await log.head();
  const until = performance.now() + CATCH_UP_MS;
  while (tree.position < head) {
    if (signal.aborted || performance.now() > until) return false;
    await sleep(LOOK_MS, signal);
  }
  await writing.add(() => tree.commit());
  return true;
}

function signed(note: string): void {
  isMadeAgain = false;
  thread.tellNews({ kind: 'checkpoint', note });
}

/** Not only from time to time: who asks for a proof waits for it. */
async function signNow(known: ReturnType<typeof noteKeys>): Promise<StoredCheckpoint | undefined> {
  signed(await writing.add(() => makeCheckpoint(tree, keys, places)));
  return lastCheckpoint(directory, known);
}

try {
  await keepTree(
    {
      log,
      tree,
      keys,
      places,
      writing,
      everyMs: config.CHECKPOINT_MINUTES * 60_000,
      onCheckpoint: signed,
      onContradiction: ({ message }) => thread.tellNews({ kind: 'contradiction', message }),
      onMoved: () => thread.tellNews({ kind: 'moved' }),
    },
    signal,
  );
} catch (error) {
  fail(error);
} finally {
  await proving.onIdle();
  // Not before: what `keepTree` stores at its end would be taken for a whole tree.
  if (isDamaged) await clearTree(index, directory);
  await log.close();
  index.close();
  thread.close();
}
