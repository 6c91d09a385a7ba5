/** Names in jest's closing summary the suites that were skipped because their engine is not to be had. */
module.exports = class SkippedSuites {
  onRunComplete(_contexts, results) {
    const suites = results.testResults
      .flatMap(({ testResults }) => testResults)
      .filter(({ status }) => status === 'pending')
      .flatMap(({ ancestorTitles }) => ancestorTitles.filter((title) => title.includes('(skipped: ')));
    for (const suite of new Set(suites)) console.log(`Skipped: ${suite}`);
  }
};
