/** A process that appends survives every failure of its server. Over protocol doubles, not real servers. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { DoubleLog } from '../engines/doubleLog.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { TcpProxy } from '../engines/tcpProxy.js';

const PROGRAM = fileURLToPath(new URL('appendingProcess.mjs', import.meta.url));

/** What is kept of 300 calls that have ended would be more: one takes several kilobytes. */
const FLAT_BYTES = 900_000;

class AppendingProcess {
  readonly acknowledged: string[] = [];
  /** What it said of warnings and errors. */
  complaints = '';
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: Interface;

  constructor(url: string) {
    this.#child = spawn(process.execPath, ['--expose-gc', PROGRAM, url], { stdio: 'pipe' });
    this.#child.stderr.on('data', (text) => {
      this.complaints += text;
    });
    this.#lines = createInterface({ input: this.#child.stdout });
    this.#lines.on('line', (line) => {
      const [what, id = ''] = line.split(' ');
      if (what === 'acknowledged') this.acknowledged.push(id);
    });
  }

  tell(what: 'one' | 'many' | 'stop' | 'memory'): void {
    this.#child.stdin.write(`${what}\n`);
  }

  async appendOne(): Promise<void> {
    this.tell('one');
    await once(this.#lines, 'line');
  }

  /** Bytes of its heap. */
  async memory(): Promise<number> {
    this.tell('memory');
    const [line] = await once(this.#lines, 'line');
    return Number(String(line).split(' ')[1]);
  }

  /** Until so many more appends were acknowledged. */
  async acknowledges(count: number): Promise<void> {
    const goal = this.acknowledged.length + count;
    while (this.acknowledged.length < goal && this.#child.exitCode === null) await wait(2);
  }

  /** @returns its exit code */
  async end(): Promise<unknown> {
    this.tell('stop');
    this.#child.stdin.end();
    const [code] = this.#child.exitCode === null ? await once(this.#child, 'close') : [this.#child.exitCode];
    return code;
  }
}

let double: EventStoreDouble;
let proxy: TcpProxy;
let appending: AppendingProcess;
beforeEach(async () => {
  double = await EventStoreDouble.start();
  proxy = await TcpProxy.start(double.port);
  appending = new AppendingProcess(`esdb://127.0.0.1:${proxy.port}?tls=false`);
});
afterEach(async () => {
  await appending.end();
  await proxy.dispose();
  await double.dispose();
});

/** Nothing that was acknowledged is lost, and nothing is there twice. */
function isWhole(log: DoubleLog): void {
  const stored = log.records.filter(({ stream }) => stream.startsWith('order-')).map(({ id }) => id);
  const once = new Set(stored);
  expect(once.size).toBe(stored.length);
  expect(appending.acknowledged.filter((id) => !once.has(id))).toEqual([]);
}

test('killed, hung, reset and cut off in the middle of many appends: the process goes on', async () => {
  appending.tell('many');
  await appending.acknowledges(100);
  for (let round = 0; round < 3; round++) {
    await double.kill();
    await wait(50 * round);
    await double.start();
    await appending.acknowledges(50);
    proxy.freeze(true);
    await wait(round === 0 ? 2_500 : 100);
    if (round % 2 === 0) proxy.cut();
    proxy.freeze(false);
    await appending.acknowledges(50);
    for (let n = 0; n < 10; n++) {
      proxy.cut();
      await appending.acknowledges(20);
      proxy.cutAfter(n * 50);
      await appending.acknowledges(20);
      double.appends.endCalls(n % 2 === 0 ? 'quietly' : 'with an error');
      await appending.acknowledges(20);
    }
  }
  expect(await appending.end()).toBe(0);
  expect(appending.complaints).toBe('');
  isWhole(double.log);
});

test('of hundreds of calls that have ended, nothing stays behind', async () => {
  const loseCalls = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      await appending.appendOne();
      if (n % 10 === 0) proxy.cut();
      else double.appends.endCalls(n % 2 === 0 ? 'quietly' : 'with an error');
    }
  };
  await loseCalls(100);
  const before = await appending.memory();
  await loseCalls(300);
  expect((await appending.memory()) - before).toBeLessThan(FLAT_BYTES);
  expect(double.appends.openCalls).toBeGreaterThan(300);
  expect(await appending.end()).toBe(0);
  expect(appending.complaints).toBe('');
  isWhole(double.log);
});
