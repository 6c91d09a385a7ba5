/** Each cost against the number of records in one table, and of tenants: the charts and tables of docs/growth.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { note } from '../figures.js';
import { chart, figure } from './chart.js';
import { costsByRecords } from './records.js';
import { costsByTenants } from './tenants.js';

const docs = (name) => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));

/** @param embedded otherwise only the tenants, on the engine that MONGODB_URL names; the table is printed */
export async function measureGrowth(directory, records, tenants, embedded) {
  if (!embedded) {
    console.log(tableOf('tenants', await costsByTenants(directory, tenants)));
    return;
  }
  await write('records', await costsByRecords(directory, records));
  await write('tenants', await costsByTenants(directory, tenants));
}

/** The chart, and the table between its two marks of the document. */
async function write(what, costs) {
  const panels = [...costs].map(([title, { unit, points }]) => ({ title, unit, points }));
  await writeFile(docs(`growth-${what}.svg`), chart(panels, what));
  const [begin, end] = [`<!-- ${what} -->`, `<!-- end of ${what} -->`];
  const document = await readFile(docs('growth.md'), 'utf8');
  const [head, tail] = [document.indexOf(begin) + begin.length, document.indexOf(end)];
  const written = `${document.slice(0, head)}\n\n${tableOf(what, costs)}\n\n${document.slice(tail)}`;
  await writeFile(docs('growth.md'), written);
  note('written to', `docs/growth.md, docs/growth-${what}.svg; npm run format aligns the tables`);
}

function tableOf(what, costs) {
  const panels = [...costs].map(([title, { unit, points }]) => ({ title, unit, points }));
  const sizes = [...new Set(panels.flatMap(({ points }) => points.map(([size]) => size)))];
  const lines = panels.map(({ title, unit, points }) => {
    const bySize = new Map(points);
    const cells = sizes.map((size) => (bySize.has(size) ? figure(bySize.get(size)) : ''));
    return `| ${title}, ${unit} | ${cells.join(' | ')} | ${(points.at(-1)[1] / points[0][1]).toFixed(1)} |`;
  });
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0].model}.`,
    '',
    `| ${what} | ${sizes.map((size) => size.toLocaleString('en')).join(' | ')} | times |`,
    `|---|${'---|'.repeat(sizes.length + 1)}`,
    ...lines,
  ].join('\n');
}

/** Adds a point to the curve of a cost. */
export function add(costs, title, unit, size, cost) {
  const curve = costs.get(title) ?? { unit, points: [] };
  curve.points.push([size, cost]);
  costs.set(title, curve);
}
