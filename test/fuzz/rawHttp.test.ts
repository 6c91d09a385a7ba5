/**
 * Raw bytes on connections of the service, while a health probe asks beside them: after any bytes it goes on, answers
 * what can be answered in the form of spec §7, and keeps nobody waiting.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { useService } from '../acceptance/useService.js';
import { scaled } from '../engines/timeScale.js';
import { rawCases } from './rawCases.js';
import { answersIn, exchange, type RawAnswer, type RawCase } from './rawConnection.js';

/** Little in `npm run test:all`, and the same each time; much in `npm run test:long`, and something new each time. */
const isLong = process.env.FUZZ_LONG !== undefined;
const CASES = isLong ? 20_000 : 750;
const SEED = Number(process.env.FUZZ_SEED ?? (isLong ? Date.now() % 2 ** 31 : 20_261_122));
/** The longest that the health probe may wait: a machine that runs other tests as well is slower. */
const LONGEST_PROBE_MS = scaled(3000);
const LONGEST_RUN_MS = 3_600_000;
const AT_ONCE = 8;
const PART = 250;
const MOST_MEMORY_MB = 1024;

const run = useService({ tenants: { acme: 'dyn_stock_order' }, env: {} });

/** Most memory that the process has had; undefined where the system does not tell. */
function peakMemoryMb(pid: number): number | undefined {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return undefined;
  }
}

/** Asks beside, until it is told to stop. @returns how long the longest answer took */
async function probeHealth(port: number, signal: AbortSignal): Promise<number> {
  let worstMs = 0;
  while (!signal.aborted) {
    const askedAt = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined);
    if (answer?.status !== 200) return Number.POSITIVE_INFINITY;
    worstMs = Math.max(worstMs, performance.now() - askedAt);
    await wait(20);
  }
  return worstMs;
}

/** A few hundred at a time: they may be large. Several loops may take from it in turn. */
function* casesInParts(arbitrary: fc.Arbitrary<RawCase>): Generator<RawCase> {
  for (let made = 0; made < CASES; made += PART) {
    yield* fc.sample(arbitrary, { numRuns: Math.min(PART, CASES - made), seed: SEED + made });
  }
}

/** What is wrong with an answer; undefined when nothing is. */
function wrongWith({ status, headers, body }: RawAnswer, isHead: boolean): string | undefined {
  // 501: a CONNECT.
  if (status >= 500 && status !== 501 && !(status === 503 && headers.has('retry-after')))
    return `HTTP ${status} ${body.slice(0, 300)}`;
  if (status < 400 || isHead) return undefined;
  if (body === '') return `HTTP ${status} without a body`;
  const parsed: unknown = JSON.parse(body);
  const hasMessage = typeof Reflect.get(Object(parsed), 'message') === 'string';
  return hasMessage ? undefined : `HTTP ${status} without a message: ${body.slice(0, 300)}`;
}

const shown = ({ name, bytes }: RawCase): string =>
  `${name}: ${JSON.stringify(
    bytes
      .toString('latin1')
      .replace(/Bearer eyJ[\w.-]+/g, 'Bearer …')
      .slice(0, 600),
  )}`;

it(
  '§7: no bytes stop the service, make it fail, or keep others waiting',
  async () => {
    const service = run.service();
    const acme = run.tenant('acme');
    const cases = casesInParts(rawCases(acme.host, await acme.token(), await acme.signIn()));
    const wrong: string[] = [];
    const pid = service.pid;
    const ending = new AbortController();
    const probing = probeHealth(service.port, ending.signal);

    const tryNext = async (): Promise<void> => {
      for (const next of cases) {
        const received = await exchange(service.port, next);
        try {
          const isHead = next.bytes.subarray(0, 5).toString('latin1') === 'HEAD ';
          for (const answer of answersIn(received, isHead)) {
            const why = wrongWith(answer, isHead);
            if (why !== undefined) wrong.push(`${why}\n  ${shown(next)}`);
          }
        } catch (error) {
          wrong.push(`${String(error)}\n  ${shown(next)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, tryNext));

    ending.abort();
    const worstMs = await probing;
    const memoryMb = peakMemoryMb(pid);
    process.stderr.write(
      `raw HTTP: seed ${SEED}, longest health check ${worstMs.toFixed(0)} ms, ${memoryMb?.toFixed(0)} MB\n`,
    );
    expect([...new Set(wrong)].slice(0, 10)).toEqual([]);
    expect(worstMs).toBeLessThan(LONGEST_PROBE_MS);
    expect(memoryMb ?? 0).toBeLessThan(MOST_MEMORY_MB);
    expect(service.pid).toBe(pid);
    expect((await acme.getList('dyn_item')).status).toBe(200);
  },
  LONGEST_RUN_MS,
);
