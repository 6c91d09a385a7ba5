import { type Finding, KnownLog } from '#app/adapters/eventstore/eventstoredb/knownLog.js';
import { LogReplacedError } from '#app/ports/eventStore.js';

const READ = { position: 35_121, eventId: 'read-before' };
const LACKING: Finding = { kind: 'lacking', end: { position: 34_826, eventId: 'last' } };
const HELD: Finding = { kind: 'held' };
const AWAY = new Error('The event store is away.');
const NEVER_MS = 1_000_000;

/** A log that has read up to READ and lost its connection, over a leader that gives these findings, the last one for ever. */
function lostConnection(findings: readonly (Finding | Error)[], replacedAfterMs: number) {
  const asked = { looks: 0, whoLeads: 0 };
  const closing = new AbortController();
  const look = async (): Promise<Finding> => {
    const finding = findings[Math.min(asked.looks, findings.length - 1)] ?? HELD;
    asked.looks += 1;
    if (!(finding instanceof Error)) return finding;
    log.connectionLost();
    throw finding;
  };
  const askWhoLeads = async () => {
    asked.whoLeads += 1;
  };
  const settings = { signal: closing.signal, replacedAfterMs, lookAgainMs: 2 };
  const log = new KnownLog({ look, askWhoLeads }, settings);
  log.note(READ);
  log.connectionLost();
  return { log, asked, closing };
}

/** How long something took, in milliseconds. */
async function lasted(work: Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work;
  return performance.now() - start;
}

describe('after a lost connection, the leader lacks the event that was read last', () => {
  test('for a while: nothing goes on before it has it again, and who leads is asked each time', async () => {
    const { log, asked } = lostConnection([...Array.from({ length: 20 }, () => LACKING), HELD], NEVER_MS);
    await log.check();
    expect(asked).toEqual({ looks: 21, whoLeads: 20 });
  });

  test('for as long as is believed: the log was replaced, and the error names both places', async () => {
    const { log } = lostConnection([LACKING], 100);
    const checked = log.check();
    const took = lasted(checked.catch(() => undefined));
    await expect(checked).rejects.toThrow(
      'event read-before at position 35121 was read before; no event begins there now, and the log ends with event last at position 34826.',
    );
    await expect(checked).rejects.toThrow(LogReplacedError);
    expect(await took).toBeGreaterThanOrEqual(100);
  });

  test('and the connection is lost again: the time begins again', async () => {
    const { log } = lostConnection([LACKING, LACKING, LACKING, AWAY, LACKING], 500);
    await expect(log.check()).rejects.toBe(AWAY);
    const checked = expect(log.check()).rejects.toThrow(LogReplacedError);
    expect(await lasted(checked)).toBeGreaterThanOrEqual(500);
  });

  test('and has another one at its position: it was replaced, at once', async () => {
    const other: Finding = { kind: 'other event', there: { position: READ.position, eventId: 'other' } };
    const { log, asked } = lostConnection([other], NEVER_MS);
    await expect(log.check()).rejects.toThrow('event other at position 35121 is there now');
    expect(asked.looks).toBe(1);
  });

  test('and the store is closed: the wait ends', async () => {
    const { log, closing } = lostConnection([LACKING], NEVER_MS);
    const checked = expect(log.check()).rejects.toThrow('closed');
    closing.abort();
    await checked;
  });
});

test('a second place that is lacking too is believed with the first one', async () => {
  const { log, asked } = lostConnection([LACKING], 20);
  await expect(log.check()).rejects.toThrow(LogReplacedError);
  const before = asked.looks;
  await expect(log.holds({ position: 35_000, eventId: 'earlier' })).resolves.toBe(false);
  expect(asked.looks).toBe(before + 1);
});

test('a place that was lacking and is held again does not shorten the wait for another one', async () => {
  const { log } = lostConnection([LACKING, HELD, LACKING], 200);
  await log.check();
  expect(await lasted(log.holds({ position: 35_000 }))).toBeGreaterThanOrEqual(200);
});
