/** Names that this process does not know, though the log may: how they are looked for. */
import { setTimeout as wait } from 'node:timers/promises';
import { directoryRefresh, type Refresh } from '#app/api/directoryRefresh.js';
import type { Commands } from '#app/commands/context.js';
import { REFUSAL_REMEMBERED_MS } from '#app/domain/limits.js';

/** A log whose end is looked at, and a directory that is behind it until `catchUp`. */
class Log {
  looks = 0;
  failure: Error | undefined;
  head = 7;
  #known = Promise.resolve();
  #catchUp: () => void = () => undefined;
  readonly #waitedFor: number[] = [];
  readonly refresh: Refresh;

  constructor() {
    const eventStore = {
      head: async () => {
        this.looks += 1;
        if (this.failure !== undefined) throw this.failure;
        return this.head;
      },
    };
    const directory = {
      waitFor: (position: number) => {
        this.#waitedFor.push(position);
        return this.#known;
      },
    };
    this.refresh = directoryRefresh({ eventStore, directory } as unknown as Pick<Commands, 'eventStore' | 'directory'>);
  }

  get waitedFor(): readonly number[] {
    return this.#waitedFor;
  }

  fallBehind(): void {
    this.#known = new Promise((resolve) => {
      this.#catchUp = resolve;
    });
  }

  catchUp(): void {
    this.#catchUp();
  }
}

let log: Log;
beforeEach(() => {
  log = new Log();
});

it('waits until the directory knows the log as it was at the call', async () => {
  log.fallBehind();
  let isOver = false;
  const refreshed = log.refresh('tenant acme').then(() => {
    isOver = true;
  });
  await wait(20);
  expect(isOver).toBe(false);
  log.catchUp();
  await refreshed;
  expect(log.waitedFor).toEqual([7]);
});

it('who asks at the same time shares one look at the log', async () => {
  await Promise.all(Array.from({ length: 100 }, (_, n) => log.refresh(`tenant t${n}`)));
  expect(log.looks).toBe(1);
});

it('who asks while another look is under way gets one of its own: that one may have been too early', async () => {
  log.fallBehind();
  const first = log.refresh('tenant one');
  await wait(20);
  log.head = 8;
  const second = log.refresh('tenant two');
  log.catchUp();
  await Promise.all([first, second]);
  expect(log.waitedFor).toEqual([7, 8]);
});

it('ever new names, asked for one after another, are a bounded number of looks', async () => {
  const began = performance.now();
  for (let n = 0; n < 20; n++) await log.refresh(`tenant t${n}`);
  const elapsed = performance.now() - began;
  expect(log.looks).toBe(20);
  // Timers may end a little early.
  expect(elapsed).toBeGreaterThan(19 * 8);
});

it('a name that was looked for is not looked for again, until a moment later', async () => {
  await log.refresh('tenant acme');
  for (let n = 0; n < 1_000; n++) await log.refresh('tenant acme');
  expect(log.looks).toBe(1);
  await wait(REFUSAL_REMEMBERED_MS + 100);
  await log.refresh('tenant acme');
  expect(log.looks).toBe(2);
});

it('without a name it looks each time', async () => {
  await log.refresh();
  await log.refresh();
  expect(log.looks).toBe(2);
});

it('a look that failed is told, counts for nothing, and keeps nobody from the next one', async () => {
  log.failure = new Error('away');
  await expect(log.refresh('tenant acme')).rejects.toThrow('away');
  log.failure = undefined;
  await log.refresh('tenant acme');
  expect(log.looks).toBe(2);
});
