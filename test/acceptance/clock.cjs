/** Puts the clock of a process ahead, in each of its threads, by the milliseconds in the file `clock` of its directory. */
const { existsSync, readFileSync } = require('node:fs');

const aheadMs = existsSync('clock') ? Number(readFileSync('clock', 'utf8')) : 0;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [RealDate.now() + aheadMs] : given));
  }
  static now() {
    return RealDate.now() + aheadMs;
  }
};
