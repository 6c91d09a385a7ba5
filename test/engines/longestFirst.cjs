/** Starts the suites that take minutes first, so that none of them is left at the end with one worker idle. */
const { default: Sequencer } = require('@jest/test-sequencer');

/** In the order they start; what is not here comes after them, as jest orders it. */
const LONGEST = [
  'acceptance/onProductionEngines/tables',
  'acceptance/onProductionEngines/access',
  'acceptance/onProductionEngines/webhooks',
  'acceptance/onProductionEngines/orders',
  'faults/',
  'outages/',
  'property/',
  'fuzz/',
  'contract/',
  'cli/',
  'acceptance/access/',
  'webhooks/',
];

const rank = ({ path }) => {
  const place = LONGEST.findIndex((part) => path.includes(`/test/${part}`));
  return place < 0 ? LONGEST.length : place;
};

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => rank(a) - rank(b));
  }
};
