import type { Commands } from '../commands/context.js';

const LONGEST_WAIT_MS = 2000;

/**
 * Brings the directory of tenants, clients and users up to the head of the log. For names that are not
 * known here: the command line, or another process, may have made them a moment ago.
 */
export class DirectoryRefresh {
  readonly #commands: Pick<Commands, 'eventStore' | 'directory'>;
  #running: Promise<void> | undefined;

  constructor(commands: Pick<Commands, 'eventStore' | 'directory'>) {
    this.#commands = commands;
  }

  /** Resolves when what was in the log at the call is known, or after two seconds. Callers at the same time share one refresh. */
  async run(): Promise<void> {
    // A refresh under way may have read the head too early for this caller: wait for it, then share the next one.
    if (this.#running !== undefined) await this.#running;
    this.#running ??= this.#refresh().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  async #refresh(): Promise<void> {
    const head = await this.#commands.eventStore.head();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LONGEST_WAIT_MS);
    });
    await Promise.race([this.#commands.directory.waitFor(head), timeout]).finally(() => clearTimeout(timer));
  }
}
