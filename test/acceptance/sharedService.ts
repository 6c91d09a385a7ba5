/**
 * The service that the files of tests in a jest worker share: a start takes a second of the processor, and there are hundreds of
 * files. Each file has tenants of its own in it. It is started by the first file that asks, and ended with the run (endRun.cjs).
 */
import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { ENTRY } from '../engines/commandLine.js';
import { type Server, sharedServer } from '../engines/sharedServer.js';
import { certificate } from '../fixtures/certificate.js';
import { PATIENT, portIn, type RunningService, Service, START_TIMEOUT_MS, settings } from './service.js';

/** What most files want: patience on a busy machine, any address as sender, and deliveries to receivers on loopback. */
const COMMON = {
  ...PATIENT,
  TRUST_PROXY: '1',
  WEBHOOK_CA_FILE: certificate().certFile,
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_BACKOFF_MS: '50',
  WEBHOOK_TIMEOUT_MS: '3000',
};

const running = z.object({
  dataDir: z.string(),
  env: z.record(z.string(), z.string()),
  port: z.int(),
  logFile: z.string(),
});

export async function sharedService(): Promise<Service> {
  // Where the engines are others, the service is another.
  const engines = [process.env.MONGODB_URL, process.env.RABBITMQ_URL].filter((url) => url !== undefined);
  const name = `service-${process.env.JEST_WORKER_ID}${engines.length === 0 ? '' : '-engines'}`;
  const directory = join(process.env.TEST_RUN ?? '', name);
  await sharedServer(name, () => start(directory));
  return Service.shared(running.parse(JSON.parse(await readFile(join(directory, 'running.json'), 'utf8'))));
}

async function start(directory: string): Promise<Server> {
  const dataDir = join(directory, 'data');
  await mkdir(dataDir, { recursive: true });
  const env = { ...settings(dataDir), ...COMMON };
  const [output, logFile] = [join(directory, 'output'), join(directory, 'log')];
  const child = spawn(process.execPath, [ENTRY, 'start'], {
    cwd: dataDir,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', openSync(output, 'w'), openSync(logFile, 'w')],
  });
  child.unref();
  const wrote = () => readFileSync(output, 'utf8');
  const deadline = Date.now() + START_TIMEOUT_MS;
  let port: number | undefined;
  for (port = portIn(wrote()); port === undefined; port = portIn(wrote())) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`The shared service does not listen. It wrote:\n${wrote()}${readFileSync(logFile, 'utf8')}`);
    await wait(10);
  }
  const started: RunningService = { dataDir, env, port, logFile };
  await writeFile(join(directory, 'running.json'), JSON.stringify(started));
  return { url: `http://127.0.0.1:${port}`, pids: [child.pid ?? 0], directory };
}
