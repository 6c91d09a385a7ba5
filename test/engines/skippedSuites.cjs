/** Adds to jest's summary what was skipped because its engine or tool is missing: suites by name, and whole projects. */
module.exports = class SkippedSuites {
  /** @param options.projects those that were left out of the configuration, with why */
  constructor(_config, { projects }) {
    const isWanted = (name) => process.argv.includes(name) || !process.argv.includes('--selectProjects');
    this.projects = projects.filter((project) => isWanted(project.split(':')[0]));
  }

  onRunComplete(_contexts, results) {
    const suites = results.testResults
      .flatMap(({ testResults }) => testResults)
      .filter(({ status }) => status === 'pending')
      .flatMap(({ ancestorTitles }) => ancestorTitles.filter((title) => title.includes('(skipped: ')));
    for (const skipped of [...new Set(suites), ...this.projects]) console.log(`Skipped: ${skipped}`);
  }
};
