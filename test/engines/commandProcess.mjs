/**
 * Runs commands of `dynamic-assets` in this process, one after the other, as commandLine.ts asks: the modules are loaded once.
 * Each has its own arguments, settings, directory and standard streams. They come from the parent, or over a socket.
 */
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const ENTRY = pathToFileURL(process.argv[2] ?? '').href;
/** Exit code of what was begun and failed. Wrong usage and help end before anything is opened. */
const FAILURE = 1;
const LONGEST_END_MS = 10_000;

class Exit extends Error {
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

let input = Readable.from([]);
Object.defineProperty(process, 'stdin', { get: () => input });
process.exit = (code) => {
  throw new Exit(Number(code ?? process.exitCode ?? 0));
};
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);

function capture(stream) {
  let text = '';
  stream.write = (chunk, encoding, written) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const done = typeof encoding === 'function' ? encoding : written;
    if (done !== undefined) process.nextTick(done);
    return true;
  };
  return () => text;
}

/** @returns its exit code, and whether it called for it: then something may still be open here */
async function end(running) {
  try {
    await running;
    return { code: Number(process.exitCode ?? 0), isForced: false };
  } catch (error) {
    if (error instanceof Exit) return { code: error.code, isForced: true };
    throw error;
  }
}

/** A program ends by itself only when nothing keeps it. @throws Error with what does */
async function untilNothingIsOpen(before) {
  const deadline = Date.now() + LONGEST_END_MS;
  for (;;) {
    const open = process.getActiveResourcesInfo();
    if (open.length <= before) return;
    if (Date.now() > deadline) throw new Error(`The command would not end: ${open.join(', ')}.`);
    await wait(5);
  }
}

let commands = 0;
async function run({ args, directory, env, stdin }) {
  process.argv = [process.argv[0] ?? 'node', ENTRY, ...args];
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(directory);
  process.exitCode = undefined;
  input = Readable.from(stdin === '' ? [] : [Buffer.from(stdin, 'base64')]);
  const open = process.getActiveResourcesInfo().length;
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  commands += 1;
  const { code, isForced } = await end(import(`${ENTRY}?command=${commands}`));
  if (!isForced) await untilNothingIsOpen(open);
  process.exitCode = undefined;
  // The directory may be removed, or its disk unmounted.
  process.chdir('/');
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  return { code, stdout: stdout(), stderr: stderr(), isClean: !isForced || code !== FAILURE };
}

const socket = process.argv[3];
if (socket === undefined) {
  process.on('message', async (command) => process.send?.(await run(command)));
  // What is still open would keep the process, and exit() is not what it was.
  process.on('disconnect', () => process.reallyExit(0));
} else {
  createServer(async (connection) => {
    for await (const line of createInterface(connection)) {
      connection.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
    }
  }).listen(socket);
}
