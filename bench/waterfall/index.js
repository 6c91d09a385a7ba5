/**
 * Where the time of one create goes, from the client's first byte to its last, through all threads: the embedded service, one
 * client, one create at a time. Writes its tables into docs/performance.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WARM_UP } from '../create.js';
import { milliseconds, note, quantile } from '../figures.js';
import { kindsFrom, place } from '../places.js';
import { startService } from '../service.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
const DOCUMENT = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
const MARKS = fileURLToPath(new URL('./marks.cjs', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));
const BATCHES = 5;
const CREATES = 1_500;
/** Longer than the marks are kept in memory. */
export const KEPT_MS = 1_000;

/** What ends at each mark, in the order of one create. */
const ANSWER = [
  ['request there', 'main', 'the client sends; the request is received, and its head parsed'],
  ['body there', 'main', 'tenant, token, limits and parameters are checked; the body is read'],
  ['append sent', 'main', 'the body is checked; the change is decided and serialised'],
  ['append received', 'appender', 'waking the thread that appends'],
  ['log committed', 'appender', 'the event is inserted and synchronised to the disk'],
  ['append answered', 'main', 'waking the thread that answers'],
  ['answered', 'main', 'the answer is made and sent'],
  ['end', 'client', 'the answer travels and is read'],
];

/** The same of what comes beside and after it, from the log's commit on, until reads show the record. */
const SHOWN = [
  ['commit announced', 'appender', 'the answer is passed on; readers of the log are told'],
  ['commit heard by projector', 'projector', 'waking the thread that projects'],
  ['transaction wanted', 'projector', 'the event and its tenant are decoded'],
  ['transaction begun', 'projector', 'a transaction is begun'],
  ['changes applied', 'projector', 'record, indexes, n-grams, history and checkpoint are written'],
  ['read models committed', 'projector', 'the transaction is committed'],
  ['read models heard by main', 'main', 'waking the thread that answers reads'],
];

const KINDS = kindsFrom(1_000_000);

/** @param directory for the service's data, and the marks */
export async function measureWaterfall(directory) {
  const marksFile = join(directory, 'marks');
  const service = await startService(join(directory, 'data'), {
    EVENTSTORE_URL: '',
    MONGODB_URL: '',
    RABBITMQ_URL: '',
    ...markSettings(marksFile),
  });
  const measured = [];
  try {
    for (let batch = 0; batch < BATCHES; batch++) {
      const items = Array.from({ length: 1_000 }, (_, index) => place(batch * 1_000 + index));
      await service.client.ok('POST', `${ASSETS}/dyn_location/assets/batch`, { items });
    }
    for (const { table, text, body } of KINDS) {
      const created = await createSome(service.client, `${ASSETS}/${table}/assets`, body);
      await wait(KEPT_MS);
      measured.push(measuredKind(text, created, await marksOf(marksFile)));
    }
  } finally {
    await service.stop();
  }
  await keep(tablesOf(measured));
}

/** Of a service that notes its marks. */
export const markSettings = (file) => ({
  NODE_OPTIONS: `--require ${MARKS}`,
  MARKS_FILE: file,
  MARKS_PACKAGE: PACKAGE,
});

async function createSome(client, path, body) {
  const times = [];
  for (let n = 0; n < WARM_UP + CREATES; n++) {
    const start = process.hrtime.bigint();
    await client.ok('POST', path, body(n));
    if (n >= WARM_UP) times.push({ start, end: process.hrtime.bigint() });
  }
  return times;
}

/** In the order of time: nanoseconds of the clock that all processes share, and names. */
export async function marksOf(file) {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const marks = lines.map((line) => {
    const space = line.indexOf(' ');
    return { at: BigInt(line.slice(0, space)), name: line.slice(space + 1) };
  });
  return marks.sort((a, b) => (a.at < b.at ? -1 : 1));
}

function measuredKind(text, created, marks) {
  const answered = passages(created, marks, ANSWER);
  const totals = answered.map(({ total }) => total);
  note(`create one ${text}`, milliseconds(totals));
  const shown = passages(
    answered.map(({ marked }) => ({ start: marked.get('log committed') })),
    marks,
    SHOWN,
  );
  return { text, totals, answered, shown };
}

function tablesOf(measured) {
  const quantiles = measured.map(
    ({ text, totals }) => `one ${text}: p50 ${inMs(quantile(totals, 0.5))} ms, p99 ${inMs(quantile(totals, 0.99))} ms`,
  );
  const columns = measured.flatMap(({ text }) => [`${text}, ms`, 'slowest 2 %']);
  const tableOf = (title, stages, passedOf) => [
    `| ${[title, 'Thread', ...columns].join(' | ')} |`,
    `|${'---|'.repeat(columns.length + 2)}`,
    ...rowsOf(stages, measured.map(passedOf)),
  ];
  return [
    `Creating ${quantiles.join('; ')}.`,
    '',
    ...tableOf('What happens', ANSWER, ({ answered }) => answered),
    '',
    ...tableOf('Then, until reads show it', SHOWN, ({ shown }) => shown),
  ].join('\n');
}

/** @param passedOfKinds of each kind of record, how long its creates took */
function rowsOf(stages, passedOfKinds) {
  // Of what is neither quick nor slow: medians of stages would not add up.
  const groups = passedOfKinds.map((passed) => {
    const totals = passed.map(({ total }) => total);
    return {
      usual: between(passed, quantile(totals, 0.25), quantile(totals, 0.75)),
      slow: between(passed, quantile(totals, 0.98), Number.POSITIVE_INFINITY),
    };
  });
  const meanOf = (some, take) => inMs(some.reduce((sum, each) => sum + take(each), 0) / some.length);
  const rows = stages.map(([, thread, what], index) => {
    const take = (each) => each.stages[index];
    const cells = groups.flatMap(({ usual, slow }) => [meanOf(usual, take), meanOf(slow, take)]);
    return `| ${[what, thread, ...cells].join(' | ')} |`;
  });
  const take = ({ total }) => total;
  const cells = groups.flatMap(({ usual, slow }) => [`**${meanOf(usual, take)}**`, meanOf(slow, take)]);
  return [...rows, `| **together** | | ${cells.join(' | ')} |`];
}

const between = (passed, low, high) => passed.filter(({ total }) => total >= low && total <= high);

/** How long each create took, and each of its stages, in milliseconds. @param created with an end where the last stage has no mark */
function passages(created, marks, stages) {
  let next = 0;
  return created.flatMap(({ start, end }) => {
    while (next < marks.length && marks[next].at < start) next++;
    const marked = new Map();
    let before = start;
    let at = next;
    for (const [name] of stages) {
      while (at < marks.length && !(marks[at].name === name && marks[at].at >= before)) at++;
      before = name === 'end' ? end : marks[at]?.at;
      // Another commit, such as a removal of what is old, came between.
      if (before === undefined || before > (end ?? before)) return [];
      marked.set(name, before);
      if (name === 'end') break;
    }
    const ends = [...marked.values()];
    const took = ends.map((each, index) => Number(each - (ends[index - 1] ?? start)) / 1e6);
    return [{ total: Number(ends.at(-1) - start) / 1e6, stages: took, marked }];
  });
}

const inMs = (milliseconds) => milliseconds.toFixed(2);

/** Between the two marks of the document. */
async function keep(text) {
  const [begin, end] = ['<!-- waterfall -->', '<!-- end of waterfall -->'];
  const document = await readFile(DOCUMENT, 'utf8');
  const [head, tail] = [document.indexOf(begin) + begin.length, document.indexOf(end)];
  await writeFile(DOCUMENT, `${document.slice(0, head)}\n\n${text}\n\n${document.slice(tail)}`);
  note('written to', 'docs/performance.md');
}
