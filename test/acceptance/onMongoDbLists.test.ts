/** The acceptance tests of lists, once more with MongoDB. */
import { withMongoDb } from './withMongoDb.js';

withMongoDb(() => {
  // Each registers its tests here.
  describe('lists', () => void require('./list.test.js'));
  describe('queries', () => void require('./query.test.js'));
});
