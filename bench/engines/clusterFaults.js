/**
 * How long the service is without writes, and without news in its reads, when a node of an EventStoreDB cluster fails.
 * Over protocol doubles of three nodes, whose election takes as long as it is told to.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atMost, note, quantile } from '../figures.js';
import { startService } from '../service.js';

const CLUSTER = fileURLToPath(new URL('./cluster.cjs', import.meta.url));
const WRITERS = 8;
const ROUNDS = 3;
const ELECTION_MS = 2_000;
/** A node that hangs goes on after this long, for a service that would wait for it. */
const HANG_MS = 30_000;
const ORDERS = '/api/v1/dynamic-assets/dyn/dyn_transport_order/assets';

export async function measureClusterFaults(directory) {
  for (const fault of ['follower dies', 'leader dies', 'leader hangs']) {
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push(await measureFault(join(directory, `${fault}-${round}`.replace(' ', '-')), fault));
    }
    const worst = (name) => Math.max(...rounds.map((each) => each[name]));
    const since = fault === 'follower dies' ? '' : ', after the election';
    atMost(`${fault}: until a write succeeds${since}`, worst('writes'), 5_000, 'ms');
    atMost(`${fault}: until an answer shows its write${since}`, worst('shown'), 5_000, 'ms');
    note(`${fault}: longest request`, `${worst('longest').toFixed(0)} ms`);
    note(
      `${fault}: writes refused`,
      `${quantile(
        rounds.map(({ refused }) => refused),
        0.5,
      )}`,
    );
  }
}

/** Milliseconds; `shown`: until a write is answered that the read models show already. */
async function measureFault(directory, fault) {
  const child = fork(CLUSTER);
  const [{ url }] = await once(child, 'message');
  const order = async (what) => {
    child.send(what);
    await once(child, 'message');
  };
  const service = await startService(directory, { EVENTSTORE_URL: url, MONGODB_URL: '', RABBITMQ_URL: '' });
  const answers = [];
  let stopped = false;
  const write = async () => {
    while (!stopped) {
      const at = performance.now();
      const { status, headers } = await service.client.send('POST', ORDERS, { notes: 'written' });
      const end = performance.now();
      answers.push({ at, end, written: status === 201, shown: status === 201 && !headers['projection-pending'] });
      await wait(10);
    }
  };
  try {
    const writing = Promise.all(Array.from({ length: WRITERS }, write));
    await wait(1_000);
    await order(fault);
    const thaw = fault === 'leader hangs' ? setTimeout(() => child.send('thaw'), HANG_MS) : undefined;
    if (fault !== 'follower dies') {
      await wait(ELECTION_MS);
      await order('elect');
    }
    const since = performance.now();
    const first = async (what) => {
      for (;;) {
        const found = answers.find((answer) => answer[what] && answer.end > since);
        if (found !== undefined) return found.end - since;
        await wait(5);
      }
    };
    const outcome = { writes: await first('written'), shown: await first('shown') };
    clearTimeout(thaw);
    stopped = true;
    await writing;
    const longest = Math.max(...answers.map(({ at, end }) => end - at));
    return { ...outcome, longest, refused: answers.filter(({ written }) => !written).length };
  } finally {
    stopped = true;
    await service.stop();
    child.disconnect();
  }
}
