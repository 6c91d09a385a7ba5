/** Jest starts large files first. Those that repeat folders of tests on other engines are small, and take minutes. */
const { default: Sequencer } = require('@jest/test-sequencer');

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const all = super.sort(tests);
    const isLong = ({ path }) => path.includes('/test/onProductionEngines/');
    return [...all.filter(isLong), ...all.filter((test) => !isLong(test))];
  }
};
