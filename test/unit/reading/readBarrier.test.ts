import type { EventSlice, EventStore, Position, RecordedEvent } from '#app/ports/eventStore.js';
import type { Parked, ProjectionProgress } from '#app/ports/projectionProgress.js';
import { ReadModelsWithheldError } from '#app/ports/readModels.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { ALL_FILLED_AT, filledAt } from '#app/projector/checkpoints.js';
import { BehindSearch } from '#app/projector/lag.js';
import { projections } from '#app/projector/projections.js';
import { ReadBarrier } from '#app/reading/readBarrier.js';
import { ReadGate } from '#app/reading/readGate.js';
import { Staleness } from '#app/reading/staleness.js';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const PROJECTIONS = ['records', 'order_history', 'deliveries', 'activity'];

/** An event of a table of the tenant, so many seconds old. */
const written = (tenant: string, position: Position, secondsAgo: number): RecordedEvent => ({
  id: `${position}`,
  type: 'RecordCreated',
  data: {},
  stream: `table-${tenant}.dyn_item`,
  revision: position,
  position,
  metadata: {
    tenant,
    actor: { kind: 'system', id: 'test' },
    correlationId: '',
    causationId: '',
    occurredAt: new Date(NOW - secondsAgo * 1000).toISOString(),
    schemaVersion: 1,
  },
});

/** Counts what it is asked. */
class Log implements Pick<EventStore, 'identity' | 'holds' | 'head' | 'subscribe'> {
  events: RecordedEvent[] = [];
  reads = 0;
  handedOut = 0;
  hangsAt: Position | undefined;

  identity = async () => 'log';
  holds = async () => true;
  head = async () => this.events.at(-1)?.position ?? 0;

  async *subscribe(options: Parameters<EventStore['subscribe']>[0]): AsyncGenerator<EventSlice> {
    const { after, streamPrefixes = [], signal } = options;
    this.reads += 1;
    const isAsked = ({ position, stream }: RecordedEvent) =>
      position > after && streamPrefixes.some((prefix) => stream.startsWith(prefix));
    for (const event of this.events.filter(isAsked)) {
      if (event.position === this.hangsAt) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (signal.aborted) return;
      this.handedOut += 1;
      yield { events: [event], position: event.position, caughtUp: false };
    }
    yield { events: [], position: await this.head(), caughtUp: true };
  }
}

describe('the age of what is shown of a tenant', () => {
  let log: Log;
  let now: number;
  let staleness: Staleness;

  beforeEach(() => {
    now = NOW;
    log = new Log();
    staleness = new Staleness(log, () => now);
    log.events = [written('acme', 1, 90), written('acme', 2, 40), written('other', 3, 20), written('acme2', 4, 0.2)];
  });

  test('is nothing, and nothing is read for it, while the projections are current', async () => {
    await staleness.reached({ after: 4 });
    expect(staleness.isNotable).toBe(false);
    expect(await staleness.of('acme')).toBe(0);
    expect(log.reads).toBe(0);
  });

  test('is that of its own oldest event that is not applied, whoever else is behind', async () => {
    await staleness.reached({ after: 1 });
    expect(await staleness.of('acme')).toBe(40);
    expect(await staleness.of('other')).toBe(20);
    expect(await staleness.of('acme2')).toBe(0.2);
    expect(await staleness.of('idle')).toBe(0);
    expect(staleness.known('acme')).toBe(40);
    now += 5_000;
    expect(staleness.known('acme')).toBe(45);
    expect(staleness.known('idle')).toBe(0);
  });

  test('goes down as the projections move, and to nothing when they are current', async () => {
    await staleness.reached({ after: 0 });
    expect(await staleness.of('acme')).toBe(90);
    await staleness.reached({ after: 1 });
    expect(await staleness.of('acme')).toBe(40);
    await staleness.reached({ after: 4 });
    expect(staleness.known('acme')).toBe(0);
  });

  test('is asked of the log once, for all who ask at the same time, and not again until the projections move', async () => {
    await staleness.reached({ after: 1 });
    const { reads } = log;
    await Promise.all(Array.from({ length: 50 }, () => staleness.of('acme')));
    now += 10_000;
    await staleness.of('acme');
    expect(log.reads).toBe(reads + 1);
  });
});

describe('who is behind', () => {
  const BEHIND_BY_A_SECOND = NOW - 1_000;
  const LIMIT_MS = 10_000;
  let log: Log;
  let search: BehindSearch;
  const namesAt = async (checkpoint: Position, writtenBefore = BEHIND_BY_A_SECOND) =>
    (await search.find({ after: checkpoint }, writtenBefore, LIMIT_MS)).names;

  beforeEach(() => {
    log = new Log();
    log.events = [written('acme', 1, 90), written('other', 2, 40), written('acme', 3, 20), written('young', 4, 0.2)];
    search = new BehindSearch(log, projections);
  });

  test('is every tenant with an old event that is not applied, until it is', async () => {
    expect(await search.find({ after: 0 }, BEHIND_BY_A_SECOND, LIMIT_MS)).toEqual({
      names: ['acme', 'other'],
      isAll: true,
    });
    expect(await namesAt(2)).toEqual(['acme']);
    expect(await namesAt(3)).toEqual([]);
    expect(await namesAt(3, NOW)).toEqual(['young']);
    expect(await namesAt(0, NOW)).toEqual(['acme', 'other', 'young']);
  });

  test('is nobody of whom all is applied, wherever the checkpoint stands', async () => {
    const outOfOrder = new Set([2]);
    expect(await search.find({ after: 0, outOfOrder }, BEHIND_BY_A_SECOND, LIMIT_MS)).toMatchObject({
      names: ['acme'],
    });
  });

  test('is found by looking at each event once', async () => {
    await namesAt(0, NOW + 1);
    const { handedOut } = log;
    for (let n = 0; n < 3; n++) await namesAt(n, NOW + 1);
    expect(log.handedOut).toBe(handedOut);
  });

  test('is told as far as it was found in time', async () => {
    log.hangsAt = 2;
    const first = await search.find({ after: 0 }, BEHIND_BY_A_SECOND, 200);
    expect(first).toEqual({ names: ['acme'], isAll: false });
    log.hangsAt = undefined;
    expect(await search.find({ after: 0 }, BEHIND_BY_A_SECOND, LIMIT_MS)).toEqual({
      names: ['acme', 'other'],
      isAll: true,
    });
  });
});

describe('the barrier', () => {
  let log: Log;
  let checkpoints: Map<string, Position>;
  let parked: Parked[];
  let looks: number;
  let barrier: ReadBarrier;
  let guarded: ReadModels;

  const progress: Pick<ProjectionProgress, 'checkpoint' | 'checkpoints' | 'anchor' | 'parked' | 'outOfOrder'> = {
    checkpoint: async (name) => checkpoints.get(name) ?? 0,
    checkpoints: async () => {
      looks += 1;
      return checkpoints;
    },
    anchor: async () => ({ log: 'log', position: 9, eventId: '9' }),
    parked: async () => parked,
    outOfOrder: async () => [],
  };
  const get = (tenant: string) => guarded.get({ tenant, table: 'dyn_item' }, 'an id');
  const reached = (position: Position) => {
    checkpoints = new Map(PROJECTIONS.map((name) => [name, position]));
  };

  beforeEach(() => {
    log = new Log();
    parked = [];
    looks = 0;
    reached(9);
    barrier = new ReadBarrier(new ReadGate(log, progress, 60));
    guarded = barrier.guard({
      get: async () => '{}',
      deliveries: async () => [],
      waitFor: async () => true,
    } as Partial<ReadModels> as ReadModels);
  });

  test('lets reads pass, and looks once for many', async () => {
    for (let n = 0; n < 100; n++) await get('acme');
    expect(looks).toBe(1);
  });

  test.each([
    ['was never filled', () => reached(0), /being filled/],
    [
      'is filled anew',
      () => checkpoints.set(filledAt('records'), 12),
      /records is being filled: it is at position 9 of 12/,
    ],
    ['is rebuilt with all others', () => checkpoints.set(ALL_FILLED_AT, 12), /rebuilt: they are at position 9 of 12/],
  ])('withholds a read model that %s', async (_, become, reason) => {
    become();
    await expect(get('acme')).rejects.toThrow(ReadModelsWithheldError);
    await expect(get('acme')).rejects.toThrow(reason);
    expect(await guarded.waitFor('records', 9, 1_000, 'acme')).toBe(false);
  });

  test('withholds one projection alone, and lets who has waited for it read at once', async () => {
    checkpoints.set(filledAt('records'), 12);
    await expect(get('acme')).rejects.toThrow(ReadModelsWithheldError);
    expect(await guarded.deliveries('acme', { webhookId: 'w', limit: 1 })).toEqual([]);
    reached(12);
    expect(await guarded.waitFor('records', 12, 1_000)).toBe(true);
    expect(await get('acme')).toBe('{}');
  });

  test('withholds what is older than the limit, from its tenant alone, and tells the age of what is younger', async () => {
    const ago = (Date.now() - NOW) / 1000;
    log.events = [written('acme', 10, 90 - ago), written('other', 11, 20 - ago)];
    // The first look finds out beside the reads.
    await get('idle');
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await expect(get('acme')).rejects.toThrow(/9\d seconds behind what was written, more than the 60 that are allowed/);
    expect(await get('other')).toBe('{}');
    expect(barrier.staleness('other')).toBeGreaterThanOrEqual(20);
    expect(barrier.staleness('other')).toBeLessThan(60);
    expect(await get('idle')).toBe('{}');
    expect(barrier.staleness('idle')).toBe(0);
    expect(await barrier.behind()).toMatchObject({ names: ['acme', 'other'], seconds: expect.closeTo(90, -1) });
    reached(11);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await barrier.behind()).toBeUndefined();
  });
});
