/** What is asked of the records of tables, over each storage of rows. */
import { openQueries } from '#app/queries/readModels.js';
import { WrittenRows } from '../support/writtenRows.js';
import { describeLists } from './readModelsLists.js';
import { describeRecords } from './readModelsRecords.js';
import { describeAnswerSizes } from './readModelsSizes.js';
import type { OpenRows } from './rowStoreFixture.js';

export function describeQueries(engine: string, open: OpenRows): void {
  let store: Awaited<ReturnType<OpenRows>>;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(async () => {
    await store.reads.close();
    await store.writer.close();
  });

  const emptied = async () => {
    for (const tenant of (await store.writer.tenants()).keys()) await store.writer.remove(tenant);
    const writer = new WrittenRows(store.writer);
    const eventStore = { readSlice: async () => ({ events: [] }) };
    return { writer, readModels: openQueries({ rows: store.reads, eventStore, tenants: writer }) };
  };

  describeLists(`queries over rows on ${engine}`, emptied);
  describeRecords(`queries over rows on ${engine}`, emptied);
  describeAnswerSizes(`queries over rows on ${engine}`, emptied);
}
