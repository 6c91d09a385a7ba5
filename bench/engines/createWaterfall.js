/**
 * Where the time of one create goes over an EventStoreDB, beside a bare append in the same run: one client, one create at a
 * time. Its answer waits until the read models show the event, which comes back over the live feed.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { atMost, note, quantile } from '../figures.js';
import { kindsFrom } from '../places.js';
import { startService } from '../service.js';
import { KEPT_MS, markSettings, marksOf } from '../waterfall/index.js';
import { LOG_NAME, logUnderTest } from './logUnderTest.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
const WARM_UP = 300;
const CREATES = 300;
/** After each, so that nothing of it is left when the next one begins. */
const PAUSE_MS = 15;

/** What ends at each mark until the answer is read. */
const ANSWER = [
  ['body there', 'request received, checks'],
  ['append sent', 'decision'],
  ['append answered', 'append'],
  ['answered', 'wait until reads show it; answer'],
  ['end', 'answer read by the client'],
];

/** Of that wait, from the append's answer on. What was there before takes no time: the feed may be sooner. */
const SHOWN = [
  ['event there', 'live feed of the server'],
  ['event passed on', 'to the thread that projects'],
  ['transaction wanted', 'its wake-up, event and tenant decoded'],
  ['read models committed', 'read model'],
  ['read models heard by main', 'waking the thread that answers'],
];

export async function measureCreateWaterfall(directory) {
  const log = await logUnderTest(0);
  const marksFile = join(directory, 'create-marks');
  const settings = { ...log.settings, ...markSettings(marksFile) };
  const service = await startService(join(directory, 'create-waterfall'), settings, log.tenant);
  try {
    const bare = quantile(await bareAppends(log.settings.EVENTSTORE_URL), 0.5);
    note(`${LOG_NAME}: a bare append, one at a time`, `${bare.toFixed(2)} ms`);
    for (const { table, text, body } of kindsFrom(7_000_000)) {
      const created = await createSome(service.client, `${ASSETS}/${table}/assets`, body);
      await wait(KEPT_MS);
      const marks = await marksOf(marksFile);
      const firsts = created.map((each) => firstMarks(each, marks));
      noteStages(
        `${LOG_NAME}: create one ${text}`,
        ANSWER,
        firsts.map((first) => stagesOf(ANSWER, first, 'start')),
      );
      noteStages(
        '  of the wait',
        SHOWN,
        firsts.map((first) => stagesOf(SHOWN, first, 'append answered')),
      );
      const totals = created.map(({ start, end }) => Number(end - start) / 1e6);
      atMost(`${LOG_NAME}: create one ${text}, beside a bare append`, quantile(totals, 0.5) / bare, 2, 'times');
    }
  } finally {
    await service.stop();
    log.stop();
  }
}

/** @returns milliseconds of each */
async function bareAppends(url) {
  const client = EventStoreDBClient.connectionString(url);
  const times = [];
  for (let n = 0; n < WARM_UP + CREATES; n++) {
    const event = jsonEvent({ type: 'ClientTest', data: { text: 'x'.repeat(300) } });
    const start = performance.now();
    await client.appendToStream(`client-${randomUUID()}`, event, { expectedRevision: NO_STREAM });
    if (n >= WARM_UP) times.push(performance.now() - start);
    await wait(PAUSE_MS);
  }
  await client.dispose();
  return times;
}

async function createSome(client, path, body) {
  const times = [];
  for (let n = 0; n < WARM_UP + CREATES; n++) {
    const start = process.hrtime.bigint();
    await client.ok('POST', path, body(n));
    const end = process.hrtime.bigint();
    await wait(PAUSE_MS);
    if (n >= WARM_UP) times.push({ start, end, over: process.hrtime.bigint() });
  }
  return times;
}

/** When each mark of a create was there first. */
function firstMarks({ start, end, over }, marks) {
  const first = new Map([
    ['start', start],
    ['end', end],
  ]);
  for (const { at, name } of marks) {
    if (at > over) break;
    if (at < start) continue;
    // Not the answer to a question for the log's end.
    if (name === 'event there' && !first.has('append sent')) continue;
    if (!first.has(name)) first.set(name, at);
  }
  return first;
}

/** Milliseconds of each stage. */
function stagesOf(stages, first, from) {
  let before = first.get(from);
  return stages.map(([name]) => {
    const at = first.get(name) ?? before;
    const took = at > before ? Number(at - before) / 1e6 : 0;
    if (at > before) before = at;
    return took;
  });
}

function noteStages(title, stages, passed) {
  const totals = passed.map((each) => each.reduce((sum, took) => sum + took, 0));
  note(title, `median ${quantile(totals, 0.5).toFixed(2)} ms`);
  for (const [index, [, what]] of stages.entries()) {
    const took = passed.map((each) => each[index]);
    note(`    ${what}`, quantile(took, 0.5).toFixed(2));
  }
}
