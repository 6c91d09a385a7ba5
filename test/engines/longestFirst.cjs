/**
 * Starts the suites that take minutes first, so that none of them is left at the end with the other workers idle; and by turns
 * one that works all the time and one that waits for most of it, for time-outs and engines, so that two processors are enough
 * for four workers.
 */
const { default: Sequencer } = require('@jest/test-sequencer');

/** In the order they start; what is in neither list comes after them, as jest orders it. */
const WORKING = [
  'onProductionEngines/tables',
  'onProductionEngines/accessOrdersTraces',
  'onProductionEngines/mongoDb',
  'onProductionEngines/parkedInRoles',
  'onProductionEngines/roles',
  'onProductionEngines/webhooks',
  'faults/damagedFiles',
  'faults/kill.',
  'faults/otherLog',
  'faults/directoryUse',
  'contract/readModels',
  'faults/deliveries',
  'acceptance/everyOperation',
  'faults/',
  'projections/',
  'property/',
  'fuzz/',
  'contract/',
  'cli/',
  'acceptance/access/',
  'webhooks/',
];
const WAITING = [
  'adapters/rabbitmq/outages',
  'contract/messageBroker.rabbitmq',
  'onProductionEngines/bothHang',
  'faults/eventStoreDbAppends',
  'outages/rabbitmq',
  'outages/',
  'adapters/eventstoredb/',
  'attacks/webhookFairness',
  'fuzz/rawHttp',
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
    while (waitFirst.length + workFirst.length > 0) order.push(...workFirst.splice(0, 1), ...waitFirst.splice(0, 1));
    return [...order, ...rest];
  }
};
