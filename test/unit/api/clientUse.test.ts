import { noteUse } from '#app/api/auth/tokenEndpoint.js';
import type { ApiClient } from '#app/domain/identity/events.js';

const NOON = '2026-11-21T12:00:00.000000Z';
const client: ApiClient = { clientId: 'c', name: 'ERP', scopes: [], secretHash: 'h', createdAt: NOON };

let appended: { stream: string; data: unknown }[];
let fails: boolean;
const warnings: unknown[] = [];
const api = {
  log: { warn: (about: unknown) => warnings.push(about) },
  commands: {
    now: () => NOON,
    newId: () => 'id',
    directory: { waitFor: async () => undefined },
    eventStore: {
      readSlice: async () => ({ events: [] }),
      append: async (stream: string, [event]: { data: unknown }[]) => {
        if (fails) throw new Error('away');
        appended.push({ stream, data: event?.data });
        return { revision: 0, position: 1 };
      },
    },
  },
} as unknown as Parameters<typeof noteUse>[0];
const callerAs = (actor: unknown) => ({ tenant: 'acme', actor, correlationId: 'r', causationId: 'r' });
const context = { callerAs, ids: {} } as unknown as Parameters<typeof noteUse>[1];

beforeEach(() => {
  jest.useFakeTimers();
  [appended, fails] = [[], false];
});
afterEach(() => {
  jest.useRealTimers();
});

it('of many tokens of a day one is noted, a while later', async () => {
  for (let n = 0; n < 5; n += 1) noteUse(api, context, client);
  noteUse(api, context, { ...client, lastUsed: '2026-11-21' });
  expect(appended).toEqual([]);
  await jest.advanceTimersByTimeAsync(300_000);
  expect(appended).toEqual([{ stream: 'client-acme.c', data: { clientId: 'c' } }]);
});
