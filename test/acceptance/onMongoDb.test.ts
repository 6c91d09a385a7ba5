/** The acceptance tests of the HTTP interface, once more with MongoDB behind the read models. */
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';

describeEngine('mongodb', 'with MongoDB as the read models', mongoDbMissing(), () => {
  const before = process.env.MONGODB_URL;
  let mongoDb: AnyMongoDb | undefined;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
    // The services that the tests below start look here.
    process.env.MONGODB_URL = mongoDb.freshUrl();
  }, ENGINE_START_MS);
  afterAll(async () => {
    if (before === undefined) delete process.env.MONGODB_URL;
    else process.env.MONGODB_URL = before;
    await mongoDb?.dispose();
  });

  // Each registers its tests here.
  describe('assets', () => void require('./assets.test.js'));
  describe('batch', () => void require('./batch.test.js'));
  describe('clean-up', () => void require('./cleanUp.test.js'));
  describe('customization', () => void require('./customization.test.js'));
  describe('errors', () => void require('./errors.test.js'));
  describe('export', () => void require('./exportPayload.test.js'));
  describe('field types', () => void require('./fieldTypes.test.js'));
  describe('history', () => void require('./history.test.js'));
  describe('limits', () => void require('./limits.test.js'));
  describe('lists', () => void require('./list.test.js'));
  describe('orders', () => void require('./orders.test.js'));
  describe('queries', () => void require('./query.test.js'));
  describe('records', () => void require('./records.test.js'));
  describe('tenants', () => void require('./tenants.test.js'));
  describe('tokens', () => void require('./tokens.test.js'));
  describe('webhooks', () => void require('./webhooks.test.js'));
});
