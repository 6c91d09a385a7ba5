/** The thread of the tree over the log: makes it, signs checkpoints, and proves events. */
import { parentPort, workerData } from 'node:worker_threads';
import { openCheckpointKeys } from '../audit/checkpointKeys.js';
import { lastCheckpoint, makeCheckpoint, noteKeys, type StoredCheckpoint, signerOf } from '../audit/checkpoints.js';
import { keepTree, oneAtATime } from '../audit/keepTree.js';
import { clearTree } from '../audit/logTree.js';
import { openNote, parseCheckpoint } from '../audit/note.js';
import { proveEvent, proveStream } from '../audit/proof.js';
import { DamagedTileError } from '../audit/tiles.js';
import { isProvable, parseStream } from '../domain/streams.js';
import { giveWay, sendable } from '../supervision/threads.js';
import type { TreeAnswers, TreeMessage, TreeQuestion, TreeRequest, TreeThreadData } from './auditTree.js';
import { openStoredLog } from './engines.js';
import { keyDirectory, openTree, treeDirectory } from './treeFiles.js';

// No request waits for the tree.
giveWay();

const config = workerData as TreeThreadData;
const directory = treeDirectory(config);
const stopping = new AbortController();
const send = (message: TreeMessage): void => parentPort?.postMessage(message);

/** The thread that is started next goes on from what is stored. */
function fail(error: unknown): void {
  send({ kind: 'failed', error: sendable(error) });
  stopping.abort();
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
let proving: Promise<void> = Promise.resolve();
// What was sent before is delivered now: an answer needs the tree and the keys.
parentPort?.on('message', (request: TreeRequest) => {
  if (request === 'stop') stopping.abort();
  else proving = proving.then(() => answer(request)).catch(fail);
});

async function answerTo(question: TreeQuestion): Promise<TreeAnswers[TreeQuestion['kind']]> {
  const known = noteKeys(tree.log, keys);
  const { files } = tree;
  switch (question.kind) {
    case 'proof': {
      const { eventId, tenant } = question;
      const isShown = (stream: string): boolean => parseStream(stream).tenant === tenant && isProvable(stream);
      const checkpoint = (await lastCheckpoint(directory, known)) ?? (await firstCheckpoint(known));
      return checkpoint === undefined ? 'uncovered' : proveEvent({ log, index, files, checkpoint }, eventId, isShown);
    }
    case 'checkpoint': {
      const note = (await lastCheckpoint(directory, known))?.note;
      const key = note && signerOf(note, known);
      return note === undefined || key === undefined ? 'none' : { note, key };
    }
    case 'stream': {
      const { stream, from, note } = question;
      const checkpoint = note === undefined ? undefined : { ...parseCheckpoint(openNote(note, known)), note };
      return proveStream({ log, index, files, checkpoint }, stream, from);
    }
  }
}

/** Not only from time to time: who asks for a proof waits for it. */
async function firstCheckpoint(known: ReturnType<typeof noteKeys>): Promise<StoredCheckpoint | undefined> {
  const note = await writing.add(() => makeCheckpoint(tree, keys, places));
  send({ kind: 'checkpoint', note });
  return lastCheckpoint(directory, known);
}

async function answer({ request, question }: Exclude<TreeRequest, 'stop'>): Promise<void> {
  try {
    send({ kind: 'answered', request, answer: await answerTo(question) });
  } catch (error) {
    send({ kind: 'answered', request, answer: undefined });
    // The next thread makes all of it again.
    if (error instanceof DamagedTileError) await clearTree(index, directory);
    throw error;
  }
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
      onCheckpoint: (note) => send({ kind: 'checkpoint', note }),
      onContradiction: (error) => send({ kind: 'contradiction', error: sendable(error) }),
      onMoved: () => send({ kind: 'moved', position: tree.position, size: tree.size }),
    },
    stopping.signal,
  );
} catch (error) {
  send({ kind: 'failed', error: sendable(error) });
} finally {
  await proving;
  await log.close();
  index.close();
  parentPort?.close();
}
