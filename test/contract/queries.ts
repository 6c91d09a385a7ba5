/** What is asked of the records of tables, over each storage of rows. */
import { RecordQueries } from '#app/queries/records.js';
import { WrittenRows } from '../support/writtenRows.js';
import { describeLists } from './queriesLists.js';
import { describeRecords } from './queriesRecords.js';
import { describeAnswerSizes } from './queriesSizes.js';
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
    return { writer, reads: new RecordQueries(store.reads, writer) };
  };

  describeLists(`queries over rows on ${engine}`, emptied);
  describeRecords(`queries over rows on ${engine}`, emptied);
  describeAnswerSizes(`queries over rows on ${engine}`, emptied);
}
