/** What the comparison found, as bench/RESULTS.md. */
import { writeFile } from 'node:fs/promises';
import { cpus, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { note, quantile } from '../figures.js';

const FILE = fileURLToPath(new URL('../RESULTS.md', import.meta.url));

/** One peer's turns at one row: the median time of all requests, and the median rate of the turns. */
const medianTime = (turns) =>
  quantile(
    turns.flatMap(({ times }) => times),
    0.5,
  );
const medianRate = (turns) =>
  quantile(
    turns.map(({ times, items, ms: took }) => (times.length * items * 1000) / took),
    0.5,
  );

const ms = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0));
const whole = (value) => Math.round(value).toLocaleString('en');
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
    values: new Map([...turnsOf].map(([peer, turns]) => [peer, byRate ? medianRate(turns) : medianTime(turns)])),
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
    `## ${whole(result.size)} records\n`,
    table(['', ...peers.map(({ kind }) => kind.name)], lines),
    ...left,
  ].join('\n');
}

/** @param peers this service first */
export async function writeReport({ begun, load }, peers, results, { rounds, turnMs, createsWarmUpMs, fillLimitS }) {
  const parts = [
    '# This service beside others',
    `Written by \`npm run bench -- --peers\` on ${begun.toISOString().slice(0, 16).replace('T', ' ')} UTC, in ${whole((Date.now() - begun) / 60_000)} minutes: one run on one machine.`,
    ...results.map((result) => summaryOf(result, peers)),
    '## Method',
    [
      `- Machine: ${cpus().length} × ${cpus()[0].model}, ${whole(totalmem() / 2 ** 30)} GB of memory, ${type()} ${release()}, Node ${process.version} for the client, this service, Directus and Parse Server; load before the run ${load.toFixed(1)}.`,
      `- All run at once; one client asks one at a time, in ${rounds} rounds with turns of ${turnMs / 1000} s. Creates are warmed for ${createsWarmUpMs / 1000} s.`,
      '- Places of the world, eight fields. Lists answer 25 records and the exact total (Parse Server an estimate without filter), filters are "contains" in any case.',
      `- Memory is PSS of all processes of a peer. A size is left out where filling takes more than ${fillLimitS} s.`,
    ].join('\n'),
    '## What each was given',
    table(
      ['', 'version', 'given', 'durability'],
      peers.map(({ kind, version }) => [kind.name, version, kind.given, kind.durability]),
    ),
  ];
  await writeFile(FILE, `${parts.filter((part) => part !== '').join('\n\n')}\n`);
  note('written to', 'bench/RESULTS.md; npm run format aligns its tables');
}
