/** After the last test of a run: ends the servers that its suites shared, and removes their data. */
const { existsSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: wait } = require('node:timers/promises');

const LONGEST_END_MS = 10_000;

/** @returns whether there was such a process */
function send(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
    return false;
  }
}

async function end(pid) {
  const deadline = Date.now() + LONGEST_END_MS;
  if (!send(pid, 'SIGTERM')) return;
  while (send(pid, 0)) {
    if (Date.now() > deadline) send(pid, 'SIGKILL');
    await wait(20);
  }
}

module.exports = async () => {
  const run = process.env.TEST_RUN;
  const servers = join(run, 'servers');
  for (const name of existsSync(servers) ? readdirSync(servers) : []) {
    const { pids, directory } = JSON.parse(readFileSync(join(servers, name), 'utf8'));
    // One after the other: RabbitMQ ends with the help of its name server.
    for (const pid of pids) await end(pid);
    rmSync(directory, { recursive: true, force: true });
  }
  rmSync(run, { recursive: true, force: true });
};
