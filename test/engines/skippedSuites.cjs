/** Adds to jest's summary the names of the suites that were skipped because their engine is missing. */
module.exports = class SkippedSuites {
  onRunComplete(_contexts, results) {
    const suites = results.testResults
      .flatMap(({ testResults }) => testResults)
      .filter(({ status }) => status === 'pending')
      .flatMap(({ ancestorTitles }) => ancestorTitles.filter((title) => title.includes('(skipped: ')));
    for (const suite of new Set(suites)) console.log(`Skipped: ${suite}`);
  }
};
