/** The service as a process of its own, as in real use: `dynamic-assets start` on a free port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('../index.js', import.meta.url));
const LISTENING = /^Listening on http:\/\/[^:/]+:(\d+)$/;

export type ServiceProcess = {
  /** `http://127.0.0.1:<port>`. */
  readonly origin: string;
  stop(): Promise<void>;
};

/** Resolves when it listens. @throws Error when it ends before */
export async function startServiceProcess(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [ENTRY, 'start'], {
    env: { ...process.env, ...environment, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  // What it prints later is read as well, so that it never waits for a full pipe.
  const lines = createInterface({ input: child.stdout });
  const port = new Promise<string | undefined>((resolve) => {
    lines.on('line', (line) => LISTENING.test(line) && resolve(LISTENING.exec(line)?.[1]));
  });
  const ended = exited.then(() => {
    throw new Error('The service ended before it listened; its log is above.');
  });
  return { origin: `http://127.0.0.1:${await Promise.race([port, ended])}`, stop };
}
