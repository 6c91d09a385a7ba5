/** The service as a process of its own, as in real use: `dynamic-assets start` on a free port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('../index.js', import.meta.url));
const LISTENING = /^Listening on http:\/\/[^:/]+:(\d+)$/;

export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;

  private constructor(
    child: ChildProcess,
    exited: Promise<void>,
    /** `http://127.0.0.1:<port>`. */
    readonly origin: string,
  ) {
    this.#child = child;
    this.#exited = exited;
  }

  /** Resolves when it listens. @throws Error when it ends before */
  static async start(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [ENTRY, 'start'], {
      env: { ...process.env, ...environment, HOST: '127.0.0.1', PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const port = await listeningPort(child, exited);
    return new ServiceProcess(child, exited, `http://127.0.0.1:${port}`);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#exited;
  }
}

async function listeningPort(child: ChildProcess, exited: Promise<void>): Promise<string> {
  if (child.stdout === null) throw new Error('The service was started without an output to read.');
  const lines = createInterface({ input: child.stdout });
  const port = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      const match = LISTENING.exec(line);
      if (match?.[1] !== undefined) resolve(match[1]);
    });
  });
  const ended = exited.then(() => {
    throw new Error('The service ended before it listened; its log is above.');
  });
  return Promise.race([port, ended]);
}
