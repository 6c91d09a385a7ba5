/** What a commit asks of the server: two commands announce and finish all tables, and one writes the records of each. */
import { MongoClient } from 'mongodb';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { at, insert, places, write } from '../../contract/readModelsFixture.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';

describeEngine('mongodb', 'the commands of a commit', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let commands: string[] = [];
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
    const connect = MongoClient.prototype.connect;
    jest.spyOn(MongoClient.prototype, 'connect').mockImplementation(function (this: MongoClient) {
      Object.assign(this, { monitorCommands: true });
      this.on('commandStarted', ({ commandName }) => commands.push(commandName));
      return connect.call(this);
    });
  }, ENGINE_START_MS);
  afterAll(async () => {
    jest.restoreAllMocks();
    await mongoDb.dispose();
  });

  test.each([1, 10, 40])('with a record for each of %i tables', async (count) => {
    const writer = await openMongoReadModelWriter({ url: mongoDb.freshUrl(), leaseMs: 60_000 });
    const tables = Array.from({ length: count }, (_, n) => ({ tenant: 'acme', table: `places_${n}` }));
    const round = (n: number) =>
      write(
        writer,
        async () => {
          for (const table of tables) {
            await writer.defineTable(table, places);
            await writer.applyToTable(table, [insert(n, {})], { revision: n, at: at(n) });
          }
        },
        { records: n },
      );
    await round(1);
    commands = [];
    await round(2);
    // The state is read, announced and set; the catalog's entries are announced and finished.
    expect(commands.toSorted()).toEqual([
      'find',
      ...tables.map(() => 'insert'),
      ...Array.from({ length: 4 }, () => 'update'),
    ]);
    await writer.close();
  });
});
