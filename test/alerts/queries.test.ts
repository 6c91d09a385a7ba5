/** Each query of the alerting rules and of the dashboard asks for metrics, labels and values that a running service has. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { addWebhook, approvedOrder, quickDelivery } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { onPath } from '../engines/onPath.js';

const target = z.looseObject({ expr: z.string(), legendFormat: z.string() });
const panel = z.looseObject({
  id: z.int(),
  type: z.string(),
  title: z.string(),
  gridPos: z.object({ h: z.int(), w: z.int(), x: z.int(), y: z.int() }),
  targets: z.array(target).default([]),
});
const dashboard = z
  .looseObject({ panels: z.array(panel) })
  .parse(JSON.parse(readFileSync('docs/grafana-dashboard.json', 'utf8')));
const rules = z
  .object({
    groups: z.array(z.looseObject({ rules: z.array(z.looseObject({ alert: z.string(), expr: z.string() })) })),
  })
  .parse(parse(readFileSync('docs/alerts.yml', 'utf8')));

const queries: readonly (readonly [string, string])[] = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
  ...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const)),
];

/** Labels that Prometheus adds at the scrape. */
const OF_SCRAPE = ['instance', 'job'];
const KEYWORDS = /^(and|or|unless|by|on|without|ignoring|group_left|group_right|bool|offset|[\d.]+[smhdwy]?|e\d+)$/;

type Asked = {
  readonly metrics: readonly { readonly name: string; readonly labels: readonly string[] }[];
  readonly grouped: readonly string[];
};

/** What a PromQL expression asks for, as far as ours are written. */
function askedBy(expr: string): Asked {
  const grouped = [...expr.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/[\s,]+/));
  const rest = expr.replace(/\b(?:by|on)\s*\([^)]*\)/g, ' ').replace(/\[[^\]]*\]/g, ' ');
  const metrics = [...rest.matchAll(/(?<![\w.])([a-zA-Z_:][\w:]*)\s*(\(|\{([^}]*)\})?/g)].flatMap(
    ([, name = '', after, matchers]) => {
      if (after === '(' || KEYWORDS.test(name)) return [];
      const labels = [...(matchers ?? '').matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
      return [{ name, labels }];
    },
  );
  return { metrics, grouped: grouped.filter((label) => label !== '') };
}

/** By name of the series, its labels. */
function seriesIn(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const series = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^([a-z_]\w*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const known = series.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    series.set(name, known);
  }
  return series;
}

describe('against the metrics of a service that has worked', () => {
  const receiver = Receiver.ofTests();
  let service: Service;
  let series: ReadonlyMap<string, ReadonlySet<string>>;
  beforeAll(async () => {
    service = await startService({ tenants: { acme: 'dyn_stock_order' }, env: quickDelivery(receiver) });
    const acme = service.tenant('acme');
    receiver.reply('/slow', () => ({ status: 500 }));
    await addWebhook(acme, receiver.url('/orders'));
    const failing = await addWebhook(acme, receiver.url('/slow'));
    await approvedOrder(acme);
    await receiver.received('/orders', 1);
    await receiver.received('/slow', 2);
    await acme.platformData('PUT', `/webhooks/${failing.id}`, { enabled: false });
    // It is looked up now and then.
    const isThere = (text: string): boolean => /^webhook_oldest_open_seconds\{/m.test(text);
    let scraped = await service.metrics();
    while (!isThere(scraped)) scraped = await service.metrics();
    series = seriesIn(scraped);
  });
  afterAll(() => service?.dispose());

  test.each(queries)('%s', (_, expr) => {
    const { metrics, grouped } = askedBy(expr);
    expect(metrics.length).toBeGreaterThan(0);
    for (const { name, labels } of metrics) {
      expect([...series.keys()]).toContain(name);
      for (const label of [...labels, ...grouped])
        if (!OF_SCRAPE.includes(label)) expect([name, ...(series.get(name) ?? [])]).toContain(label);
    }
  });
});

test('the dashboard shows each figure once: ids differ, and no panel lies over another', () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  for (const { type, targets } of panels) expect(targets.length > 0).toBe(type !== 'row');
});

describeEngine(
  'promtool',
  'the queries of the dashboard',
  onPath('promtool') === undefined ? 'no promtool is on PATH' : undefined,
  () => {
    test('are PromQL', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'queries-'));
      const recorded = queries.map(([, expr], index) => ({ record: `query:${index}`, expr }));
      const file = join(directory, 'rules.yml');
      await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
      const { stdout } = await promisify(execFile)('promtool', ['check', 'rules', file]);
      expect(stdout).toContain(`SUCCESS: ${queries.length} rules found`);
      await rm(directory, { recursive: true });
    });
  },
);
