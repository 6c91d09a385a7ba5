/** The tables of a tenant under a release that has other standard tables than the one that made them. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { readConfig } from '#app/config.js';
import type { AssetField, AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';
import type { EventStore } from '#app/ports/eventStore.js';
import type { RecordQuery } from '#app/ports/readModels.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { projections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { followRelease } from '#app/rebuild/release.js';
import { openEventStore, openReadModels, openReadModelWriter } from '#app/service/engines.js';
import { event } from '../contract/eventStoreFixtures.js';
import { contains, found } from '../contract/readModelsFixture.js';
import { textField } from '../fixtures/textField.js';

const units = { tenant: 'acme', table: 'dyn_unit_code' };
const model = stockModel as AssetType[];
const standard = [...model];
/** From here on the release has this field of unit codes, in the middle. */
function release(field: AssetField): void {
  model.splice(
    0,
    model.length,
    ...standard.map((type) => {
      const [first, ...others] = type.fields;
      return type.name === units.table && first !== undefined ? { ...type, fields: [first, field, ...others] } : type;
    }),
  );
}

let directory: string;
let eventStore: EventStore;
let readModels: ReadModels;
let writer: ReadModelWriter & RebuildableReadModels;

beforeEach(async () => {
  model.splice(0, model.length, ...standard);
  directory = await mkdtemp(join(tmpdir(), 'release-'));
  const config = readConfig({ DATA_DIR: directory });
  eventStore = await openEventStore(config);
  writer = await openReadModelWriter(config);
  readModels = await openReadModels(config);
  const created = { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' };
  await eventStore.append('tenant-acme', [event(created, 'TenantCreated')], 'any');
  await unit('PCE');
  await project();
});
afterEach(async () => {
  model.splice(0, model.length, ...standard);
  await readModels.close();
  await writer.close();
  await eventStore.close();
  await rm(directory, { recursive: true });
});

const unit = (code: string, fields: Fields = {}) => {
  const created = { id: randomUUID(), fields: { code, value: code.toLowerCase(), ...fields } };
  return eventStore.append('table-acme.dyn_unit_code', [event(created, 'RecordCreated')], 'any');
};

/** Until the read models show all that is in the log. */
async function project(): Promise<void> {
  const stopping = new AbortController();
  const running = runProjections({ eventStore, writer, projections }, stopping.signal);
  const head = await eventStore.head();
  for (const { name } of projections) expect(await readModels.waitFor(name, head, 60_000)).toBe(true);
  stopping.abort();
  await running;
}

async function follow(): Promise<{ readonly rebuilt: unknown[]; readonly failures: unknown[] }> {
  const rebuilt: unknown[] = [];
  const failures: unknown[] = [];
  const heard = {
    onRebuilt: ({ tenant, table }: { tenant?: string; table?: string }) => rebuilt.push({ tenant, table }),
    onFailure: (error: unknown) => failures.push(error),
  };
  const writing = new PQueue({ concurrency: 1 });
  await followRelease({ eventStore, writer, writing, ...heard }, new AbortController().signal);
  return { rebuilt, failures };
}

const codes = async (asked: Partial<RecordQuery>) => (await found(readModels, asked, units)).records;
const byFamily = { sort: [{ field: 'family', direction: 'desc' }] } as const;

test('an event brings its table to the release, before anybody has gone through the tenants', async () => {
  release(textField('family'));
  await unit('BOX', { family: 'Packaging' });
  await project();
  expect(await codes(byFamily)).toEqual(['BOX', 'PCE']);
  expect(await codes({ filters: [contains('family', 'pack')] })).toEqual(['BOX']);
  expect(await follow()).toEqual({ rebuilt: [], failures: [] });
});

test('tables that nobody writes to are brought to it as well, and values of before are kept', async () => {
  release(textField('family'));
  await follow();
  expect(await codes(byFamily)).toEqual(['PCE']);
  expect((await found(readModels, {}, units, 'family')).records).toEqual([null]);
  expect((await found(readModels, {}, units, 'value')).records).toEqual(['pce']);
});

test('a field made searchable by the next release is a rebuild of that table, once', async () => {
  release(textField('family', { filterable: false, sortable: false }));
  await unit('BOX', { family: 'Packaging' });
  await project();
  await follow();
  release(textField('family'));
  expect(await follow()).toEqual({ rebuilt: [units], failures: [] });
  expect(await codes(byFamily)).toEqual(['BOX', 'PCE']);
  expect(await codes({ filters: [contains('family', 'kag')] })).toEqual(['BOX']);
  expect(await follow()).toEqual({ rebuilt: [], failures: [] });
});

test('while another rebuild is at work it waits for its turn', async () => {
  release(textField('family', { filterable: false, sortable: false }));
  await follow();
  release(textField('family'));
  const other = await writer.beginRebuild({ projection: 'order_history' });
  const following = follow();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await other.abandon();
  const { rebuilt, failures } = await following;
  expect(rebuilt).toEqual([units]);
  expect(failures.length).toBeGreaterThan(0);
});

test('a stop ends it, and the next start does what is left', async () => {
  release(textField('family'));
  const stopped = new AbortController();
  const writing = new PQueue({ concurrency: 1 });
  const heard = { onRebuilt: () => {}, onFailure: () => stopped.abort() };
  stopped.abort();
  await followRelease({ eventStore, writer, writing, ...heard }, stopped.signal);
  await expect(codes(byFamily)).rejects.toThrow('brought to this release');
  await follow();
  expect(await codes(byFamily)).toEqual(['PCE']);
});
