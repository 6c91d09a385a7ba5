/** What the comparison found, as bench/RESULTS.md. */
import { writeFile } from 'node:fs/promises';
import { cpus, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { note, quantile } from '../figures.js';

const FILE = fileURLToPath(new URL('../RESULTS.md', import.meta.url));

/** One peer's turns at one row, as figures. */
function figures(turns) {
  const times = turns.flatMap((turn) => turn.times);
  const asked = turns.reduce((sum, turn) => sum + turn.times.length * turn.items, 0);
  const rates = turns.map((turn) => (turn.times.length * turn.items * 1000) / turn.ms);
  return {
    count: times.length,
    p50: quantile(times, 0.5),
    p50s: turns.map((turn) => quantile(turn.times, 0.5)),
    p99: quantile(times, 0.99),
    rate: quantile(rates, 0.5),
    rates,
    processor: turns.reduce((sum, turn) => sum + turn.processorMs, 0) / asked,
  };
}

const ms = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0));
const whole = (value) => Math.round(value).toLocaleString('en');
const seconds = (value) => (value < 0.1 ? value.toFixed(3) : value.toFixed(2));
const spread = (values, text) => `${text(Math.min(...values))} to ${text(Math.max(...values))}`;
const table = (head, lines) =>
  [
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---').join('|')}|`,
    ...lines.map((line) => `| ${line.join(' | ')} |`),
  ].join('\n');

/** The rows of one size: which figure of each peer counts, and how it is written. Less is better unless `byRate`. */
function comparedRows({ rows, memory, disk }) {
  const compared = [...rows].map(([{ name, byRate }, turnsOf]) => ({
    name: `${name}, ${byRate ? 'a second' : 'p50 ms'}`,
    byRate,
    text: byRate ? whole : ms,
    values: new Map([...turnsOf].map(([peer, turns]) => [peer, byRate ? figures(turns).rate : figures(turns).p50])),
  }));
  compared.push(
    { name: 'memory, MB', text: whole, values: memory },
    { name: 'bytes on disk, MB', text: whole, values: disk },
  );
  return compared;
}

const best = ({ values, byRate }) => [...values].reduce((a, b) => ((byRate ? b[1] > a[1] : b[1] < a[1]) ? b : a));

function summaryOf(result, peers) {
  const lines = comparedRows(result).map((row) => {
    const [first] = best(row);
    const cells = peers.map((peer) => {
      const value = row.values.get(peer);
      if (value === undefined) return '-';
      return peer === first ? `**${row.text(value)}**` : row.text(value);
    });
    return [row.name, ...cells];
  });
  const left = result.leftOut.map(
    ({ peer, seconds: time }) =>
      `\n${peer.kind.name} was left out: at its rate so far, filling would have taken ${whole(time)} s.`,
  );
  return [
    `### ${whole(result.size)} records\n`,
    table(['', ...peers.map(({ kind }) => kind.name)], lines),
    ...left,
  ].join('\n');
}

/** What else is known of each row: the slow ones, and what it takes of the processor. */
function furtherRows({ rows }) {
  return [...rows].flatMap(([{ name, byRate }, turnsOf]) => {
    const known = [...turnsOf].map(([peer, turns]) => [peer, figures(turns)]);
    const by = (key) => new Map(known.map(([peer, found]) => [peer, found[key]]));
    const slow = { name: `${name}, p99 ms`, text: ms, values: by('p99') };
    const processor = { name: `${name}, CPU s for 1000`, text: seconds, values: by('processor') };
    return byRate ? [processor] : [slow, processor];
  });
}

/** Each row in which somebody is ahead of this service. */
function lostRows(results, rowsOf, [own]) {
  return results.flatMap((result) =>
    rowsOf(result).flatMap(({ name, values, byRate, text }) => {
      const mine = values.get(own);
      const ahead = [...values].filter(([, value]) => (byRate ? value > mine : value < mine));
      if (ahead.length === 0) return [];
      const said = ahead.map(([peer, value]) => `${peer.kind.name} ${text(value)}`).join(', ');
      return [`- ${whole(result.size)} records, ${name}: ${said}; here ${text(mine)}.`];
    }),
  );
}

function rawOf({ size, rows }, peers) {
  const lines = [...rows].flatMap(([{ name, byRate }, turnsOf]) =>
    peers.flatMap((peer) => {
      const turns = turnsOf.get(peer);
      if (turns === undefined) return [];
      const found = figures(turns);
      return [
        [
          name,
          peer.kind.name,
          whole(found.count),
          `${ms(found.p50)} (${spread(found.p50s, ms)})`,
          ms(found.p99),
          `${whole(found.rate)} (${spread(found.rates, whole)})${byRate && turns[0].items > 1 ? ' records' : ''}`,
          seconds(found.processor),
        ],
      ];
    }),
  );
  const head = ['', 'peer', 'requests', 'p50 ms (of turns)', 'p99 ms', 'a second (of turns)', 'CPU s for 1000'];
  return `### ${whole(size)} records\n\n${table(head, lines)}`;
}

/** @param peers this service first */
export async function writeReport({ begun, load }, peers, results, { rounds, turnMs, createsWarmUpMs, fillLimitS }) {
  const lost = lostRows(results, comparedRows, peers);
  const further = lostRows(results, furtherRows, peers);
  const rows = results.reduce((sum, result) => sum + comparedRows(result).length, 0);
  const parts = [
    '# This service beside others',
    `Written by \`npm run bench -- --peers\` on ${begun.toISOString().slice(0, 16).replace('T', ' ')} UTC, in ${whole((Date.now() - begun) / 60_000)} minutes: one run on one machine.`,
    '## What came out',
    `This service wins ${rows - lost.length} of ${rows} rows. ${lost.length === 0 ? '' : 'A peer is ahead in these:'}`,
    lost.join('\n'),
    further.length === 0 ? '' : 'And in these figures of slow requests (p99) and of processor time:',
    further.join('\n'),
    ...results.map((result) => summaryOf(result, peers)),
    '## Method',
    [
      `- Machine: ${cpus().length} × ${cpus()[0].model}, ${whole(totalmem() / 2 ** 30)} GB of memory, ${type()} ${release()}, Node ${process.version} for the client, this service, Directus and Parse Server; load before the run ${load.toFixed(1)}.`,
      '- All peers run at the same time on that machine, idle but for the one that is asked. The client is the same for all (`bench/service.js`: Node, connections kept alive, the whole answer read), in a process of its own on the loopback address. So each figure includes the client.',
      `- Each row is asked in ${rounds} rounds: in each round every peer has a turn of ${turnMs / 1000} s at most, or until each query was asked once; before it one create, after which no count of before can be reused, and at first a short turn that only warms, of ${createsWarmUpMs / 1000} s before creates. New records are filled in by turns of ten batches.`,
      '- Data: places of the world (`bench/places.js`), eight fields. Lists answer 25 records and the exact total; filters are "contains" in any case, of beginnings of names that are there. The totals of all peers are compared; Parse Server answers an estimate where there is no filter.',
      '- The rows are sorted by one of six fields, up or down. The clean-up deletes one half of the records and what the rows before have created.',
      `- p50 and p99 are of all requests of a row; the brackets have the medians and rates of the turns. "CPU s for 1000" is processor time of all processes of a peer, for 1000 requests, or 1000 records of a batch or clean-up. Memory is proportional (PSS) of all its processes, bytes on disk are all files of its data, logs included, both before the clean-up.`,
      `- A size is left out for a peer whose filling would take more than ${fillLimitS} s.`,
    ].join('\n'),
    '## What each was given',
    table(
      ['', 'version', 'given', 'durability'],
      peers.map(({ kind, version }) => [kind.name, version, kind.given, kind.durability]),
    ),
    '## Raw figures',
    ...results.map((result) => rawOf(result, peers)),
  ];
  await writeFile(FILE, `${parts.filter((part) => part !== '').join('\n\n')}\n`);
  note('written to', 'bench/RESULTS.md; npm run format aligns its tables');
}
