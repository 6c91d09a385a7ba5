/** After the last test. */
const { rmSync } = require('node:fs');

module.exports = () => rmSync(process.env.KEPT_TENANTS, { recursive: true, force: true });
