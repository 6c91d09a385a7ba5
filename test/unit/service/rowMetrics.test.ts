/** What `/metrics` says of the rows: how far they are behind, by position and by age, and for how many tenants they stopped. */
import { Registry } from 'prom-client';
import { Progress } from '#app/projections/progress.js';
import { registerRowFigures } from '#app/service/figures.js';
import { RowWatch } from '#app/service/health.js';

const HEAD = 12;
let registry: Registry;
let progress: Progress;
let head: () => Promise<number>;

beforeEach(() => {
  registry = new Registry();
  progress = new Progress({ progress: async () => undefined }, { isTold: true });
  head = async () => HEAD;
  const watch = new RowWatch({ head: () => head() }, progress);
  registerRowFigures(
    registry,
    progress,
    () => watch.lag(),
    () => progress.parked(),
  );
});

/** Its figures by name. */
async function figures() {
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => line.split(' ')));
}

test('while all rows are made, nothing lags', async () => {
  progress.tell({ kind: 'read', position: HEAD });
  expect(await figures()).toEqual({
    projection_lag_events: '0',
    projection_lag_seconds: '0',
    projections_parked: '0',
    projections_filling: '0',
  });
});

test('the lag is in positions of the log, and the age of the oldest event that is missing', async () => {
  progress.tell({ kind: 'read', position: 5 });
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
  const since = new Map([
    ['acme', ago(3.5)],
    ['hauler', ago(90.5)],
  ]);
  progress.tell({ kind: 'behind', since });
  const { projection_lag_events: events, projection_lag_seconds: seconds } = await figures();
  expect(events).toBe('7');
  expect(Number(seconds)).toBeGreaterThanOrEqual(90);
  progress.tell({ kind: 'behind', since: new Map() });
  progress.tell({ kind: 'read', position: HEAD });
  expect(await figures()).toMatchObject({ projection_lag_events: '0', projection_lag_seconds: '0' });
});

test('a figure that cannot be found is left out, and the others stay', async () => {
  head = async () => {
    throw new Error('The log is away.');
  };
  progress.tell({ kind: 'filling', tenant: 'acme' });
  const found = await figures();
  expect(found).not.toHaveProperty('projection_lag_events');
  expect(found).toMatchObject({ projections_filling: '1' });
});
