/** How far tenants' rows are: told by the follower of this process, or asked for. */
import { Progress } from '#app/projections/progress.js';
import { MemoryRows } from '../../support/memoryRows.js';

const LONG = 60_000;
const parked = { position: 8, eventId: 'e', eventType: 'X', error: 'It is bad.', since: '2026-11-27T08:00:00.000Z' };
const moveTo = (rows: MemoryRows, position: number) => rows.apply('acme', { writes: [], position });
const away = { progress: () => Promise.reject(new Error('The engine is away.')) };

describe('where the follower tells', () => {
  let rows: MemoryRows;
  let progress: Progress;
  beforeEach(() => {
    rows = new MemoryRows();
    progress = new Progress(rows, { isTold: true });
  });

  test('a wait ends with the news of its position', async () => {
    const [seventh, ninth] = [progress.waitFor('acme', 7, LONG), progress.waitFor('acme', 9, 0)];
    progress.tell({ kind: 'applied', tenant: 'other', position: 9 });
    progress.tell({ kind: 'applied', tenant: 'acme', position: 7 });
    expect(await seventh).toBe(true);
    expect(await ninth).toBe(false);
    expect(await progress.waitFor('acme', 6, 0)).toBe(true);
  });

  test('what was applied before this process began is found with the rows', async () => {
    await moveTo(rows, 7);
    expect(await progress.waitFor('acme', 7, LONG)).toBe(true);
  });

  test('nobody waits for a tenant that is parked, filled or deleted', async () => {
    const waiting = progress.waitFor('acme', 9, LONG);
    progress.tell({ kind: 'parked', tenant: 'acme', parked });
    expect(await waiting).toBe(false);
    expect(await progress.waitFor('acme', 9, LONG)).toBe(false);
    expect(progress.parked()).toEqual([{ tenant: 'acme', ...parked }]);
    progress.tell({ kind: 'running', tenant: 'acme' });
    const afterRetry = progress.waitFor('acme', 9, LONG);
    progress.tell({ kind: 'applied', tenant: 'acme', position: 9 });
    expect(await afterRetry).toBe(true);
    progress.tell({ kind: 'filling', tenant: 'acme' });
    expect(await progress.waitFor('acme', 10, LONG)).toBe(false);
    const deleted = progress.waitFor('other', 9, LONG);
    progress.tell({ kind: 'deleted', tenant: 'other' });
    expect(await deleted).toBe(false);
  });

  test('a position where the tenant has no event is reached with the log', async () => {
    const waiting = progress.waitFor('acme', 9, LONG);
    progress.tell({ kind: 'applied', tenant: 'other', position: 9 });
    progress.tell({ kind: 'read', position: 9 });
    expect(await waiting).toBe(true);
    expect(progress.position).toBe(9);
    progress.tell({ kind: 'filling', tenant: 'acme' });
    expect([...progress.filling()]).toEqual(['acme']);
    expect(await progress.waitFor('acme', 9, LONG)).toBe(false);
  });

  test('who asks for what was written while the engine is away is told that the rows lack it, until they have it', async () => {
    const beside = new Progress(away, { isTold: true });
    await expect(beside.waitFor('acme', 9, LONG)).rejects.toThrow('The engine is away.');
    expect(beside.staleness('acme')).toBe(0);
    beside.tell({ kind: 'applied', tenant: 'acme', position: 9 });
    expect(beside.staleness('acme')).toBeUndefined();
  });

  test('what is not found may be there while the rows lack a write, also if they catch up during the read', async () => {
    for (const position of [7, 9]) expect(await progress.waitFor('acme', position, 0)).toBe(false);
    progress.tell({ kind: 'applied', tenant: 'acme', position: 7 });
    const nothing = async () => progress.tell({ kind: 'applied', tenant: 'acme', position: 9 }) as undefined;
    await expect(progress.found('acme', nothing)).rejects.toThrow('may not show it yet');
    expect(await progress.found('acme', nothing)).toBeUndefined();
  });

  test('staleness is the age of the oldest event that is not applied', () => {
    const since = new Date(Date.now() - 5_100).toISOString();
    progress.tell({ kind: 'behind', since: new Map([['acme', since]]) });
    expect(progress.behind()).toEqual([{ tenant: 'acme', seconds: 5 }]);
    expect(progress.staleness('other')).toBeUndefined();
    progress.tell({ kind: 'behind', since: new Map() });
    expect(progress.staleness('acme')).toBeUndefined();
  });
});

test('rows that are parked, filled or too old are refused, and the reason is said', () => {
  const progress = new Progress(new MemoryRows(), { isTold: true });
  expect(progress.refusal('acme')).toBeUndefined();
  progress.tell({ kind: 'behind', since: new Map([['acme', new Date(Date.now() - 61_100).toISOString()]]) });
  expect(progress.refusal('acme')).toMatch('61 seconds behind what was written, more than the 60 ');
  expect(progress.refusal('other')).toBeUndefined();
  progress.tell({ kind: 'parked', tenant: 'acme', parked });
  expect(progress.refusal('acme')).toMatch('the event X at position 8 could not be applied');
  progress.tell({ kind: 'filling', tenant: 'acme' });
  expect(progress.refusal('acme')).toBe('The rows of this tenant are being made.');
});

describe('where nobody tells', () => {
  test('the rows are asked until they are there, parked, or the time is over', async () => {
    const rows = new MemoryRows();
    const progress = new Progress(rows, { isTold: false });
    const waiting = progress.waitFor('acme', 7, LONG);
    await moveTo(rows, 7);
    expect(await waiting).toBe(true);
    expect(await progress.waitFor('acme', 8, 20)).toBe(false);
    const inVain = progress.waitFor('acme', 8, LONG);
    await rows.mark('acme', parked);
    expect(await inVain).toBe(false);
    await rows.mark('acme', undefined);
    const again = progress.waitFor('acme', 9, LONG);
    await moveTo(rows, 9);
    expect(await again).toBe(true);
  });

  test('an engine that is away is told', () =>
    expect(new Progress(away, { isTold: false }).waitFor('acme', 7, LONG)).rejects.toThrow('The engine is away.'));
});
