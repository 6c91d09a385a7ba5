/**
 * The protocol double of EventStoreDB as a process of its own. It sends its URL, and how often it was asked for something
 * whenever it is sent anything. Its argument says how many events of others are in its log.
 */
require('./typescript.cjs');
const { DoubleLog } = require('../../test/engines/doubleLog.ts');
const { EventStoreDouble } = require('../../test/engines/eventStoreDouble.ts');

const double = new EventStoreDouble(new DoubleLog(Number(process.argv[2] ?? 0)));
void double.start().then(() => process.send({ url: double.url }));
process.on('message', () => process.send({ calls: double.looks + double.subscriptions }));
process.once('disconnect', () => process.exit(0));
