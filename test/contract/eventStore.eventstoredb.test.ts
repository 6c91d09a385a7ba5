/**
 * The event store contract over EventStoreDB: over a protocol double always, over a real server where there is one.
 * The server may hold other data. Afterwards it holds event types of the tests, which the service refuses to start
 * on: do not name the server of a service in EVENTSTORE_URL.
 */
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { describeEngine } from '../engines/describeEngine.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { describeEventStore, type LogUnderTest, logUnderTest } from './eventStore.js';
import { describeSubscriptions } from './eventStoreSubscriptions.js';

/** A log under test, on the server with this URL. */
const logAt = (url: string, dispose?: () => Promise<void>) => logUnderTest(() => openEventStoreDb({ url }), dispose);

describe('the event store contract over a protocol double in the dialect of KurrentDB 25.0, where it differs', () => {
  let log: LogUnderTest;
  beforeAll(async () => {
    const double = await EventStoreDouble.start('25.0');
    log = await logAt(double.url, () => double.kill());
  });
  afterAll(() => log.close());

  describeSubscriptions(() => log.store);
});

describeEventStore('eventstoredb, over a protocol double, not a real server', async () => {
  const double = await EventStoreDouble.start();
  return logAt(double.url, () => double.kill());
});

const { EVENTSTORE_URL } = process.env;
const missing = EVENTSTORE_URL === undefined ? 'EVENTSTORE_URL is unset' : undefined;
describeEngine('eventstoredb', 'the event store contract on EventStoreDB', missing, () => {
  describeEventStore('eventstoredb', () => logAt(EVENTSTORE_URL ?? ''));
});
