/** Which of the events that are read ahead one transaction applies, and for how long. The clock moves by the work alone. */
import type { RecordedEvent } from '#app/ports/eventStore.js';
import type { Projection } from '#app/ports/projection.js';
import type { OutOfOrder } from '#app/ports/projectionProgress.js';
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import { type LongEvents, NO_LONG_EVENTS, ProjectionBatch } from '#app/projector/projectionBatch.js';
import { ReadAhead } from '#app/projector/readAhead.js';
import type { Step } from '#app/projector/steps.js';

let nowMs: number;
beforeEach(() => {
  nowMs = 1_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => jest.restoreAllMocks());

const tenant = (name: string) => ({ name }) as ReturnType<Step['known']>;

/** The work of a piece of a long event, and of a short event, in milliseconds. */
const PIECE_MS = 5;
const SHORT_MS = 2;
const COMMIT_MS = 1;

/** A log with one projection, whose events change a table: each of the weight that its test says. */
class Log {
  readonly #readAhead = new ReadAhead(0, new AbortController().signal);
  readonly #outOfOrder = new Map<number, OutOfOrder>();
  readonly #isStepwise: boolean;
  #position = 0;
  #checkpoint = 0;
  #long: LongEvents = NO_LONG_EVENTS;
  /** What was applied, in order: `a1` is the first event of tenant a, and stands here for each of its pieces. */
  readonly applied: string[] = [];
  longMs = 0;

  constructor(isStepwise = true) {
    this.#isStepwise = isStepwise;
  }

  /** Adds a slice with these events: `a1` in a stream of its own, `a1*30` with thirty pieces, `a2/a1` in the stream of `a1`, `+a2/a1` at the position of the one before it. */
  add(...names: readonly string[]): void {
    const steps = names.map((name, index) => this.#step(name, names[index + 1]?.startsWith('+') === true));
    this.#readAhead.add({ steps, position: this.#position, place: undefined });
  }

  #step(text: string, isBeforeSame: boolean): Step {
    const [, plus = '', name = '', pieces, stream = name] = /^(\+?)(\w+)(?:\*(\d+))?(?:\/(\w+))?$/.exec(text) ?? [];
    const of = name.slice(0, 1);
    if (plus === '') this.#position += 1;
    const weight = pieces === undefined ? 1 : 100 * Number(pieces);
    const event = {
      stream: `table-${of}.${stream}`,
      position: this.#position,
      revision: 0,
      type: 'Changed',
      data: { name, pieces: Number(pieces ?? 0) },
      metadata: { occurredAt: '' },
    } as unknown as RecordedEvent;
    return { event, tenant: of, weight, sharesPosition: plus !== '' || isBeforeSame, known: () => tenant(of) };
  }

  readonly #projection: Projection = {
    name: 'records',
    version: 1,
    streamPrefixes: ['table-'],
    apply: async (event, { name: of }, target) => {
      const { name, pieces } = event.data as { name: string; pieces: number };
      const table = { tenant: of, table: name };
      const ids = Array.from({ length: 100 * pieces }, () => '');
      const change =
        pieces > 0 ? ({ kind: 'seen', ids, batchId: null } as const) : ({ kind: 'delete', id: '' } as const);
      await target.applyToTable(table, [change], { revision: 0, at: '', position: event.position });
    },
  };

  /** One transaction. @returns what it applied */
  async batch(): Promise<readonly string[]> {
    const before = this.applied.length;
    const stepwise = {
      mayOvertake: async () => true,
      putOutOfOrder: async (each: OutOfOrder) => void this.#outOfOrder.set(each.position, each),
    };
    const writer = {
      checkpoint: async () => this.#checkpoint,
      parked: async () => [],
      outOfOrder: async () => [...this.#outOfOrder.values()],
      applyToTable: async ({ table }: { table: string }, [change]: readonly { kind: string }[]) => {
        if (change === undefined) return;
        const isPiece = change.kind === 'seen';
        nowMs += isPiece ? PIECE_MS : SHORT_MS;
        if (isPiece) this.longMs += PIECE_MS;
        this.applied.push(table);
      },
      ...(this.#isStepwise ? { stepwise } : {}),
    } as unknown as ReadModelWriter;
    const parts = { writer, projections: [this.#projection], readAhead: this.#readAhead };
    const batch = await ProjectionBatch.begin(parts, this.#readAhead.view(), new Map(), this.#long);
    this.#checkpoint = (await batch.apply()).get('records') ?? 0;
    nowMs += COMMIT_MS;
    this.#long = batch.longEvents;
    this.#readAhead.release(batch.position);
    return this.applied.slice(before);
  }

  get isDone(): boolean {
    return this.#readAhead.isEmpty;
  }
}

const numbered = (of: string, count: number, from = 1): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${of}${from + n}`);

test('short events go before a long one, and each of its own stream behind it', async () => {
  const log = new Log();
  log.add('a1*2', 'b1', 'a3/a1', 'a2');
  expect(await log.batch()).toEqual(['b1', 'a2']);
  while (!log.isDone) await log.batch();
  expect(log.applied).toEqual(['b1', 'a2', 'a1', 'a1', 'a3']);
});

test('events that share a position are applied in one transaction: their progress is one', async () => {
  const log = new Log();
  log.add('a1*3', '+a2*3/a1', '+a3*3/a1', ...numbered('b', 600), 'a4*3/a1', '+a5*3/a1');
  while (!log.isDone) {
    const applied = (await log.batch()).filter((name) => name.startsWith('a'));
    expect([[], ['a1', 'a2', 'a3'], ['a4', 'a5'], ['a1', 'a2', 'a3', 'a4', 'a5']]).toContainEqual(applied);
  }
  expect(log.applied.filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
  expect(log.applied).toHaveLength(605);
});

test('long events have half of the time while short ones come without end', async () => {
  const log = new Log();
  log.add('a1*200');
  const startedAt = nowMs;
  for (let n = 1; !log.isDone; n++) {
    log.add(`b${n}`);
    const applied = await log.batch();
    expect(applied.filter((name) => name === `b${n}`)).toHaveLength(1);
    // A share that was saved up while short events took long is spent in one transaction, at most fifty milliseconds.
    expect(applied.length).toBeLessThan(3);
  }
  const share = log.longMs / (nowMs - startedAt);
  expect(share).toBeGreaterThan(0.45);
  expect(share).toBeLessThan(0.55);
});

test('long events of several tenants take turns', async () => {
  const log = new Log();
  log.add('a1*30', 'b1*30', 'c1*30');
  const turns: string[] = [];
  while (!log.isDone) turns.push(...new Set(await log.batch()));
  expect(turns.slice(0, 6)).toEqual(['a1', 'b1', 'c1', 'a1', 'b1', 'c1']);
});

test('a tenant with many short events does not hold up those of others', async () => {
  const log = new Log();
  log.add(...numbered('a', 1_000));
  log.add('b1', 'c1', 'b2');
  const first = await log.batch();
  expect(first.slice(0, 5)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2']);
  expect(first.length).toBeLessThan(600);
  while (!log.isDone) await log.batch();
  expect(log.applied.filter((name) => name.startsWith('a'))).toEqual(numbered('a', 1_000));
  expect(log.applied).toHaveLength(1_003);
});

test('an engine that applies events in the order of the log gets them so', async () => {
  const log = new Log(false);
  log.add(...numbered('a', 400), 'a401*3', ...numbered('b', 400));
  log.add('c1');
  while (!log.isDone) await log.batch();
  expect(log.applied).toEqual([...numbered('a', 400), 'a401', ...numbered('b', 400), 'c1']);
});
