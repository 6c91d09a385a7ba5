/** What was refused to people goes into the log, but only so often, whatever is sent. */
import { pino } from 'pino';
import { MAX_REFUSALS_TOLD, Refusals } from '#app/api/auth/refusals.js';
import { RequestContext } from '#app/api/requestContext.js';
import type { EventToAppend } from '#app/ports/eventStore.js';

const EVERY_MS = 60_000;

describe('refusals', () => {
  let appended: (readonly [stream: string, data: unknown])[];
  let refusals: Refusals;

  beforeEach(() => {
    jest.useFakeTimers();
    appended = [];
    const eventStore = {
      lastAppend: async () => undefined,
      readSlice: async () => ({ events: [] }),
      append: async (stream: string, events: readonly EventToAppend[]) => {
        appended.push(...events.map(({ type, data }) => [stream, { type, ...Object(data) }] as const));
        return { revision: 0, position: 1 };
      },
    };
    const commands = { eventStore, now: () => '2026-11-21T03:11:47.000000Z', newId: () => 'id' };
    refusals = new Refusals({ commands, log: pino({ enabled: false }) } as never, EVERY_MS);
  });
  afterEach(() => jest.useRealTimers());

  const contextOf = (tenant: string): RequestContext => {
    const context = new RequestContext(
      { headers: {}, method: 'POST', originalUrl: '/api/v1/platform/session' },
      60_000,
    );
    context.tenant = { name: tenant } as never;
    return context;
  };
  const told = async () => {
    await jest.advanceTimersByTimeAsync(1);
    return appended.map(([, data]) => data);
  };

  test('however many names and networks there are, a report has so many events', async () => {
    for (let n = 0; n < 5_000; n++) refusals.signIn(contextOf('acme'), `192.0.${n % 250}.${n % 200}`, undefined);
    await jest.advanceTimersByTimeAsync(EVERY_MS);
    const events = await told();
    expect(events).toHaveLength(1 + MAX_REFUSALS_TOLD + 1);
    expect(events.at(-1)).toMatchObject({ userId: null, network: 'others' });
    expect(events.reduce((sum: number, event) => sum + Number(Object(event).times), 0)).toBe(5_000);
  });
});
