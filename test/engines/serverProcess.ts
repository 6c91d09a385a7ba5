/** A server's process, which a test ends, lets stand still as a machine does that hangs, and starts again. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

export abstract class ServerProcess {
  protected server: ChildProcess | undefined;

  /** Of the process that gets signals. */
  protected abstract pid(): number | Promise<number>;

  /** Ends it in good order. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** Ends it as a crash does. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /**
   * Connections stay open and nothing answers. Resolves when each thread stands still: on a busy machine some go on for a moment
   * after the signal.
   */
  async freeze(): Promise<void> {
    const pid = await this.pid();
    process.kill(pid, 'SIGSTOP');
    const isStill = async (thread: string): Promise<boolean> =>
      /^State:\s+T/m.test(await readFile(`/proc/${pid}/task/${thread}/status`, 'utf8'));
    const areStill = async () => Promise.all((await readdir(`/proc/${pid}/task`)).map(isStill));
    while ((await areStill()).includes(false)) await wait(1);
  }

  async thaw(): Promise<void> {
    process.kill(await this.pid(), 'SIGCONT');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.server;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const [ended, pid] = [once(child, 'exit'), await this.pid()];
    // One that stands still would not hear of it.
    process.kill(pid, 'SIGCONT');
    process.kill(pid, signal);
    await ended;
  }
}
