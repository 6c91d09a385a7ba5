/**
 * Servers that the suites of a test run share: the first suite that asks for one starts it, and endRun.cjs ends it. A suite
 * that stops or kills its server has one of its own.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';

/** The first start of FerretDB compiles it. */
const LONGEST_START_MS = 600_000;

export type Server = {
  readonly url: string;
  /** In the order in which they are ended. */
  readonly pids: readonly number[];
  /** With its data; removed after it has ended. */
  readonly directory: string;
};

const started = z.union([z.object({ url: z.string() }), z.object({ failure: z.string() })]);

/**
 * @param start it outlives the process of the suite that started it
 * @returns its URL. @throws Error when it could not be started, also for the suites that ask later
 */
export async function sharedServer(name: string, start: () => Promise<Server>): Promise<string> {
  const run = process.env.TEST_RUN;
  if (run === undefined) throw new Error('Servers are shared within a test run: beginRun.cjs begins it.');
  await mkdir(join(run, 'servers'), { recursive: true });
  const known = join(run, 'servers', `${name}.json`);
  if (await isFirst(join(run, `${name}.starting`))) await tell(known, start);
  const answer = started.parse(JSON.parse(await written(known)));
  if ('failure' in answer) throw new Error(answer.failure);
  return answer.url;
}

const isFirst = (directory: string): Promise<boolean> =>
  mkdir(directory).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );

async function tell(file: string, start: () => Promise<Server>): Promise<void> {
  const none = { pids: [], directory: `${file}.none` };
  const server = await start().catch((error: unknown) => ({ ...none, failure: String(error) }));
  await writeFile(`${file}.new`, JSON.stringify(server));
  await rename(`${file}.new`, file);
}

async function written(file: string): Promise<string> {
  const deadline = Date.now() + LONGEST_START_MS;
  for (;;) {
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      if (Date.now() > deadline) throw error;
      // Another suite still starts it.
      await wait(50);
    }
  }
}
