/**
 * Starts the suites that take minutes first, so that none of them is left at the end with the other workers idle; and beside
 * two that work all the time one that waits for most of it, for time-outs and engines, so that the processors have their fill.
 */
const { default: Sequencer } = require('@jest/test-sequencer');

/** In the order they start; what is in neither list comes after them, as jest orders it. */
const WORKING = [
  'acceptance/onProductionEngines/tables',
  'acceptance/onProductionEngines/',
  'faults/kill.',
  'faults/deliveries',
  'faults/otherLog',
  'faults/',
  'property/',
  'fuzz/',
  'contract/',
  'cli/',
  'acceptance/access/',
  'webhooks/',
];
const WAITING = [
  'outages/mongoDbAndRabbitMq',
  'outages/eventStoreDb',
  'contract/messageBroker.rabbitmq',
  'faults/eventStoreDbAppends',
  'outages/',
  'adapters/eventstoredb/',
];

const rankIn = (list, { path }) => list.findIndex((part) => path.includes(`/test/${part}`));
const inOrderOf = (list, tests) => tests.toSorted((a, b) => rankIn(list, a) - rankIn(list, b));

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const all = super.sort(tests);
    const waiting = all.filter((test) => rankIn(WAITING, test) >= 0);
    const working = all.filter((test) => !waiting.includes(test) && rankIn(WORKING, test) >= 0);
    const waitFirst = inOrderOf(WAITING, waiting);
    const workFirst = inOrderOf(WORKING, working);
    const rest = all.filter((test) => !waiting.includes(test) && !working.includes(test));
    const order = [];
    while (waitFirst.length + workFirst.length > 0) order.push(...workFirst.splice(0, 2), ...waitFirst.splice(0, 1));
    return [...order, ...rest];
  }
};
