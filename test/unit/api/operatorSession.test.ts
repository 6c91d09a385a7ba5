/** What a link opens while the log takes no events: operators are needed then. */
import { LRUCache } from 'lru-cache';
import { pino } from 'pino';
import { operatorSessions } from '#app/api/operator/session.js';
import { RequestContext } from '#app/api/requestContext.js';
import { EventStoreUnavailableError } from '#app/ports/eventStore.js';

const operation = operatorSessions.operations['POST /sessions'];

function processWith(readSlice: () => Promise<unknown>) {
  const api = {
    commands: { eventStore: { readSlice }, now: () => '2026-11-21T03:11:47.000000Z', newId: () => 'id' },
    tokens: {
      verify: async (_: string, id: string) => ({ id, operator: 'ops', expiresAt: 0 }),
      issueOperatorSession: () => ({ token: 'session', expiresIn: 60, id: '1' }),
    },
    operatorLinks: new LRUCache({ max: 10 }),
    log: pino({ enabled: false }),
  };
  return async (token: string): Promise<unknown> => {
    const context = new RequestContext({ headers: {}, method: 'POST', originalUrl: '/' }, 60_000);
    const call = { req: { context, ip: '192.0.2.1' }, body: { token } };
    return operation?.handle(api as never, call as never, context.deadline);
  };
}

const away = () => Promise.reject(new EventStoreUnavailableError('The disk is full.'));

test('a link opens one session in a process while the log takes no events', async () => {
  const enter = processWith(away);
  expect(await enter('link')).toMatchObject({ body: expect.stringContaining('"token":"session"') });
  await expect(enter('link')).rejects.toMatchObject({ status: 401 });
  expect(await enter('another')).toMatchObject({ body: expect.stringContaining('"operator":"ops"') });
});

test('what is no outage of the log opens nothing', async () => {
  await expect(processWith(() => Promise.reject(new TypeError('a mistake')))('link')).rejects.toThrow('a mistake');
});
