/**
 * This service beside others, all of them running at once, asked by turns by the same client. Writes bench/RESULTS.md.
 *
 * A peer has a name, what it is `given`, its `durability`, and:
 *   install(directory)          into a folder that is kept between runs; @returns its version, and what `start` needs
 *   start(directory, installed) with an empty table of places; @returns
 *     pids, data                its first processes, and the folder of its data
 *     create(place), addBatch(places, batchId), repeatBatch(places, batchId): those that are there already
 *     ids(), get(id), list({ page, sort, filters }): 25 records and the total, which is returned; a filter is "contains"
 *     cleanUp(batchId)          deletes all that is not of that batch; @returns how many
 *     settle()                  what an operator would do after a large import
 *     stop()
 */
import { chmod, mkdir } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { note } from '../figures.js';
import { place } from '../places.js';
import { directus } from './directus.js';
import { parseServer } from './parseServer.js';
import { pocketBase } from './pocketBase.js';
import { diskMb, memoryMb } from './processes.js';
import { writeReport } from './report.js';
import { CREATES, createNext, reads } from './rows.js';
import { thisService } from './thisService.js';
import { turn } from './turn.js';

const PEERS = [thisService, pocketBase, directus, parseServer];
/** Kept between runs: what is installed once is not installed again. */
const PROGRAMS = join(tmpdir(), 'dynamic-assets-peers');
const BATCH = 1000;
const FILL_TURN = 10;
const ROUNDS = 3;
const TURN_MS = 1_000;
const WARM_UP_MS = 300;
/** Compilers of JavaScript have done with what a create runs after some thousand of them. */
const CREATES_WARM_UP_MS = 2_000;
const REPEATED = 5;
/** A size whose filling would take longer is left out. */
const FILL_LIMIT_S = 600;
/** Totals may differ by so much: peers fold letters outside ASCII by rules of their own, and one estimates. */
const TOTALS_DIFFER = 0.02;

const [KEPT, GONE] = ['kept', 'gone'];

/** @param sizes rising @param only beginnings of names, beside this service; all where undefined */
export async function measurePeers(directory, sizes, only) {
  const chosen = PEERS.filter(
    (kind) => kind === thisService || (only?.some((start) => kind.name.toLowerCase().startsWith(start)) ?? true),
  );
  // PostgreSQL is another user.
  await chmod(directory, 0o711);
  const peers = [];
  const results = [];
  const run = { begun: new Date(), load: loadavg()[0] };
  try {
    for (const kind of chosen) peers.push(await startPeer(directory, kind));
    const report = () =>
      writeReport(run, peers, results, {
        rounds: ROUNDS,
        turnMs: TURN_MS,
        createsWarmUpMs: CREATES_WARM_UP_MS,
        fillLimitS: FILL_LIMIT_S,
      });
    for (const size of sizes) {
      const result = { size, rows: new Map(), leftOut: [], memory: new Map(), disk: new Map() };
      results.push(result);
      const filled = await measureSize(result, peers, size);
      // A clean-up of many takes some of them minutes; what is known is kept, should somebody not wait.
      await report();
      await cleanUp(result, filled, size);
      await report();
    }
  } finally {
    for (const peer of peers) await peer.stop();
  }
}

async function startPeer(directory, kind) {
  note(kind.name, 'is installed, if it is not, and started');
  const folder = kind.name.toLowerCase().replace(' ', '-');
  await mkdir(join(directory, folder), { mode: 0o711 });
  const installed = await kind.install(join(PROGRAMS, folder));
  const running = await kind.start(join(directory, folder), installed);
  return { ...running, kind, version: installed.version, records: 0 };
}

/** Figures by row and peer go into `result`. @returns the peers that have so many records */
async function measureSize(result, all, size) {
  const peers = all.filter((peer) => {
    const seconds = peer.fillRate === undefined ? 0 : (size - peer.records) / peer.fillRate;
    if (seconds > FILL_LIMIT_S) result.leftOut.push({ peer, seconds });
    return seconds <= FILL_LIMIT_S;
  });
  await fill(result, peers, size);
  const ids = new Map();
  for (const peer of peers) ids.set(peer, await peer.ids());
  const rows = reads(size, ids);
  await compareTotals(rows, peers);
  for (const row of rows) {
    for (const peer of peers) await turn(peer, row, 0, WARM_UP_MS);
    await rounds(result, row, peers, createNext);
  }
  await repeatBatches(result, peers, Math.min(REPEATED, size / 2 / BATCH));
  for (const row of CREATES) {
    for (const peer of peers) await turn(peer, row, 0, CREATES_WARM_UP_MS);
    await rounds(result, row, peers);
  }
  for (const peer of peers) {
    result.memory.set(peer, await memoryMb(peer.pids));
    result.disk.set(peer, await diskMb(peer.data));
  }
  return peers;
}

const batchFrom = (from) => Array.from({ length: BATCH }, (_, i) => place(from + i));

/** By turns. The second half is what the clean-up will delete. */
async function fill(result, peers, size) {
  const row = { name: 'batch of 1000 new', items: BATCH, byRate: true };
  for (let from = Math.min(...peers.map(({ records }) => records)); from < size; from += FILL_TURN * BATCH) {
    for (const peer of peers) {
      const starts = Array.from({ length: FILL_TURN }, (_, i) => from + i * BATCH).filter(
        (start) => start >= peer.records && start < size,
      );
      const work = starts.map((start) => (to) => to.addBatch(batchFrom(start), start < size / 2 ? KEPT : GONE));
      if (work.length > 0) keep(result, row, peer, await turn(peer, { work, clients: 1 }, 0));
    }
    process.stderr.write(`\r${Math.min(from + FILL_TURN * BATCH, size)} records `);
  }
  for (const peer of peers) {
    const turns = result.rows.get(row).get(peer);
    peer.fillRate =
      (turns.flatMap(({ times }) => times).length * BATCH * 1000) / turns.reduce((sum, { ms }) => sum + ms, 0);
    await peer.settle();
  }
}

/** That all did the same work. */
async function compareTotals(rows, peers) {
  for (const { name, work, lists } of rows) {
    if (!lists) continue;
    for (const ask of work.slice(0, 3)) {
      const totals = [];
      for (const peer of peers) totals.push(await ask(peer));
      const [low, high] = [Math.min(...totals), Math.max(...totals)];
      if (high - low > Math.max(2, high * TOTALS_DIFFER)) throw new Error(`${name}: totals ${totals.join(', ')}`);
    }
  }
}

/** @param before each turn: what makes remembered counts stale */
async function rounds(result, row, peers, before) {
  for (let round = 0; round < ROUNDS; round++) {
    for (const peer of peers) {
      await before?.(peer);
      keep(result, row, peer, await turn(peer, row, round / ROUNDS, TURN_MS));
    }
  }
}

/** A synchronisation that finds nothing new: the same places with the id of another batch, at last the one they had. */
async function repeatBatches(result, peers, count) {
  const row = { name: 'batch of 1000 unchanged', items: BATCH, byRate: true };
  for (const batchId of ['second', 'third', KEPT]) {
    const work = Array.from({ length: count }, (_, i) => (to) => to.repeatBatch(batchFrom(i * BATCH), batchId));
    for (const peer of peers) keep(result, row, peer, await turn(peer, { work, clients: 1 }, 0));
  }
}

async function cleanUp(result, peers, size) {
  for (const peer of peers) {
    let deleted = 0;
    const work = [async (to) => (deleted = await to.cleanUp(KEPT))];
    const turned = await turn(peer, { work }, 0);
    keep(result, { name: 'clean-up of half', items: deleted, byRate: true }, peer, turned);
    peer.records = await peer.list({ filters: { external_id: 'loc-' } });
    if (peer.records !== size / 2) throw new Error(`${peer.kind.name} has ${peer.records} of ${size} records left`);
  }
}

function keep(result, row, peer, turned) {
  const key = [...result.rows.keys()].find(({ name }) => name === row.name) ?? row;
  const turnsOf = result.rows.get(key) ?? new Map();
  result.rows.set(key, turnsOf);
  turnsOf.set(peer, [...(turnsOf.get(peer) ?? []), { ...turned, items: row.items ?? 1 }]);
}
