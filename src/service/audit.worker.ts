/** The thread of the tree over the log: makes it, signs checkpoints, proves events, and verifies the log for operators. */
import { workerData } from 'node:worker_threads';
import PQueue from 'p-queue';
import {
  keepTree,
  lastCheckpoint,
  makeCheckpoint,
  noteKeys,
  openCheckpointKeys,
  storedIn,
} from '../audit/checkpoints.js';
import { clearTree } from '../audit/logTree.js';
import { proveEvent, proveStream } from '../audit/proof.js';
import { DamagedTileError } from '../audit/tiles.js';
import { verifyLog } from '../audit/verify.js';
import type { Config } from '../config.js';
import { isProvable, parseStream } from '../domain/streams.js';
import type { JobNews, JobReport } from '../projections/jobs.js';
import { sleep } from '../supervision/waiting.js';
import { keyDirectory, openTree, type TreeMessages, treeDirectory } from './auditTree.js';
import { openStoredLog } from './engines.js';
import { insideThread } from './thread.js';

/** How long a question waits for the latest events to be in the tree, and how often that is checked. */
const CATCH_UP_MS = 2_000;
const ASK_MS = 50;

const config = workerData as Config;
const directory = treeDirectory(config);
const thread = insideThread<TreeMessages>();
const { signal } = thread.stopping;

let isDamaged = false;

/** The thread that is started next goes on from what is stored; where a tile is damaged, it makes all of it again. */
function fail(error: unknown): undefined {
  isDamaged ||= error instanceof DamagedTileError;
  thread.fail(error);
  thread.stopping.abort();
}

// As stored: a leaf must not change with a release that reads older events in another shape.
const log = await openStoredLog(config);
const tree = await openTree(log, directory).catch(async (error: unknown) => {
  await log.close();
  throw error;
});
const keys = await openCheckpointKeys(keyDirectory(config));
const known = noteKeys(tree.log, keys);
const places = { directory, published: config.CHECKPOINT_DIR };
/** One at a time: events are proved, and checkpoints signed, between two slices. */
const queue = new PQueue({ concurrency: 1 });
const onCheckpoint = (checkpoint: string): void => thread.tellNews({ checkpoint });

thread.serve(async (request, cancelling, tell) => {
  if (request.kind !== 'job') return answerTo(request).catch(fail);
  const outcome = await (request.job.kind === 'audit_verify' ? verify : sign)(cancelling, tell);
  tell({ report: { tenant: null, differences: [], ...outcome } });
  return undefined;
});

type Outcome = Pick<JobReport, 'outcome' | 'error'>;

async function verify(cancelling: AbortSignal, tell: (news: JobNews) => void): Promise<Outcome> {
  const last = await lastCheckpoint(directory, known);
  if (last === undefined) throw new Error('There is no checkpoint yet.');
  const of = await log.head();
  const found = await verifyLog(log, tree.files, last, (done) => {
    cancelling.throwIfAborted();
    tell({ tenant: null, tenants: 1, done, of });
  });
  cancelling.throwIfAborted();
  if (found.holds && (found.unreadable ?? found.unnamed) === undefined) return { outcome: 'equal' };
  return { outcome: 'different', error: '"dynamic-assets audit verify" says what was changed.' };
}

async function sign(cancelling: AbortSignal): Promise<Outcome> {
  const signed = await queue.add(() => {
    cancelling.throwIfAborted();
    return signNow();
  });
  if (signed === undefined) throw new Error('The log is still being read.');
  return { outcome: 'signed' };
}

/** Undefined while the tree lacks events that the last checkpoint covers. */
async function signNow(): Promise<string | undefined> {
  const note = await makeCheckpoint(tree, keys, places);
  if (note !== undefined) onCheckpoint(note);
  return note;
}

type Question = Exclude<TreeMessages['request'], { readonly kind: 'job' }>;

/** @returns undefined while the tree is being made, and does not have all events yet */
async function answerTo(question: Question): Promise<TreeMessages['answer']> {
  const head = await log.head();
  const until = performance.now() + CATCH_UP_MS;
  while (tree.position < head) {
    if (signal.aborted || performance.now() > until) return undefined;
    await sleep(ASK_MS, signal);
  }
  return queue.add(async () => {
    tree.commit();
    const checkpoint = await checkpointFor(question);
    if (checkpoint === undefined || tree.size < checkpoint.size) return undefined;
    if (question.kind === 'checkpoint') return { note: checkpoint.note, key: checkpoint.key };
    if (question.kind === 'stream') return proveStream(log, { tree, checkpoint }, question.stream, question.from);
    const { eventId, tenant } = question;
    const isShown = (stream: string): boolean => parseStream(stream).tenant === tenant && isProvable(stream);
    return proveEvent(log, { tree, checkpoint }, eventId, isShown);
  });
}

/** The one that the question names, or the last. The first is not only made from time to time: a person waits for it. */
async function checkpointFor(question: Question) {
  if (question.kind === 'stream') return storedIn(question.note, known);
  const last = await lastCheckpoint(directory, known);
  if (last !== undefined) return last;
  await signNow();
  return lastCheckpoint(directory, known);
}

try {
  const everyMs = config.CHECKPOINT_MINUTES * 60_000;
  const onContradiction = ({ message }: Error): void => thread.tellNews({ contradiction: message });
  await keepTree({ tree, keys, places, queue, everyMs, onCheckpoint, onContradiction }, signal);
} catch (error) {
  fail(error);
} finally {
  await queue.onIdle();
  // Not before: what `keepTree` stores at its end would be taken for a whole tree.
  if (isDamaged) await clearTree(tree.index, directory);
  await log.close();
  tree.index.close();
  thread.close();
}
