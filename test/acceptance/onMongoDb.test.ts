/** The acceptance tests of the HTTP interface, once more with MongoDB. Those of lists are in a file of their own. */
import { withMongoDb } from './withMongoDb.js';

withMongoDb(() => {
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
  describe('orders', () => void require('./orders.test.js'));
  describe('records', () => void require('./records.test.js'));
  describe('tenants', () => void require('./tenants.test.js'));
  describe('tokens', () => void require('./tokens.test.js'));
  describe('webhooks', () => void require('./webhooks.test.js'));
});
