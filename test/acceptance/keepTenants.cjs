/** Before the first test: where keptTenants.ts keeps them. */
const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

module.exports = () => {
  process.env.KEPT_TENANTS = mkdtempSync(join(tmpdir(), 'kept-tenants-'));
};
