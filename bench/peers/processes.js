/** Processes of peers: started, waited for, ended; what they take of the processor, the memory and the disk. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endWithThis } from '../interruption.js';

export const run = promisify(execFile);

/** In which Linux counts the time of processes. */
const START_LIMIT_MS = 120_000;
const LOOK_MS = 100;

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * @param options of `spawn`; what it prints goes into the file `log`
 * @param isUp whether it answers; asked until it does
 */
export async function launch(command, args, { log, ...options }, isUp) {
  const output = openSync(log, 'a');
  const child = spawn(command, args, { ...options, stdio: ['ignore', output, output] });
  endWithThis(child);
  const deadline = performance.now() + START_LIMIT_MS;
  while (!(await isUp().catch(() => false))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill();
      throw new Error(`${command} did not start:\n${(await readFile(log, 'utf8')).slice(-2_000)}`);
    }
    await wait(LOOK_MS);
  }
  return child;
}

/** @param port of 127.0.0.1 @returns what `launch` asks */
export const answersAt = (port, path) => async () => (await fetch(`http://127.0.0.1:${port}${path}`)).ok;

export async function end(child, signal = 'SIGTERM') {
  if (child.exitCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** After the name of the program, which may contain anything. */
const statOf = async (pid) =>
  (await readFile(`/proc/${pid}/stat`, 'utf8'))
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);

/** These processes and all that they started. */
async function family(roots) {
  const parents = new Map();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await statOf(name).catch(() => undefined);
    if (stat !== undefined) parents.set(Number(name), stat[1]);
  }
  const isOurs = (pid) => pid !== undefined && (roots.includes(pid) || isOurs(parents.get(pid)));
  return [...parents.keys()].filter(isOurs);
}

/** Memory in MB; what several of them share is counted once. */
export async function memoryMb(roots) {
  let kb = 0;
  for (const pid of await family(roots)) {
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
    kb += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
  }
  return kb / 1024;
}

/** What the files of a directory take on the disk, in MB. */
export async function diskMb(directory) {
  let bytes = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      bytes +=
        (await lstat(join(entry.parentPath ?? entry.path, entry.name)).catch(() => ({ blocks: 0 }))).blocks * 512;
  }
  return bytes / 2 ** 20;
}
