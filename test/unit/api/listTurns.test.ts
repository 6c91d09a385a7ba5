import { type ListLimits, ListTurns } from '#app/api/admission.js';
import { ANSWER_MS, RequestContext } from '#app/api/requestContext.js';
import { MAX_WAITING_LISTS } from '#app/domain/limits.js';

/** Of a request that may take so long. */
const contextOf = (timeoutMs = 60_000) =>
  new RequestContext({ headers: {}, method: 'GET', originalUrl: '/' }, timeoutMs);

function leave(context: RequestContext): void {
  context.end();
  context.deadline.end();
}

const contexts: RequestContext[] = [];
afterEach(() => {
  for (const context of contexts.splice(0)) leave(context);
});

/** Lists that are begun, in order, and end when they are told to. */
function openTurns(limits: Partial<ListLimits> = {}) {
  const turns = new ListTurns({ atOnce: 3, ofOneTenant: 2, timeoutMs: 60_000, ...limits });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, context = contextOf(), until?: Promise<void>): Promise<string> => {
    contexts.push(context);
    const list = turns.run({
      tenant: name.slice(0, 1),
      until,
      context,
      advice: () => 'Ask for less.',
      find: (cancellation) =>
        new Promise<string>((resolve, reject) => {
          begun.push(name);
          ends.set(name, () => resolve(name));
          cancellation.onCancel(() => reject(cancellation.reason));
        }),
    });
    list.catch(() => undefined);
    return list;
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settled();
  };
  return { begun, ask, end };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('one tenant never has all turns, and another begins at once', async () => {
  const { begun, ask } = openTurns();
  for (const name of ['a1', 'a2', 'a3', 'a4']) void ask(name);
  await settled();
  expect(begun).toEqual(['a1', 'a2']);
  void ask('b1');
  await settled();
  expect(begun).toEqual(['a1', 'a2', 'b1']);
});

test('tenants that wait have their turns one after another, and of a tenant the first comes first', async () => {
  const { begun, ask, end } = openTurns({ atOnce: 2, ofOneTenant: 1 });
  for (const name of ['a1', 'b1', 'a2', 'a3', 'a4', 'b2', 'c1', 'c2']) void ask(name);
  await settled();
  for (let next = 0; next < begun.length; next += 1) await end(begun[next] ?? '');
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3', 'c2', 'a4']);
});

test('a list ends with what its search found', async () => {
  const { ask, end } = openTurns();
  const list = ask('a1');
  await settled();
  await end('a1');
  await expect(list).resolves.toBe('a1');
});

test('over the time a list is 503 with advice, whether it waits or is in work', async () => {
  const { begun, ask } = openTurns({ atOnce: 1, ofOneTenant: 1, timeoutMs: 20 });
  const lists = await Promise.allSettled([ask('a1'), ask('a2')]);
  expect(begun.slice(0, 1)).toEqual(['a1']);
  for (const list of lists) {
    expect(list).toMatchObject({
      status: 'rejected',
      reason: {
        status: 503,
        reason: 'It was given up after 0.02 s. Ask for less.',
        headers: { 'Retry-After': expect.anything() },
      },
    });
  }
});

test('what the request has left is the limit where that is less', async () => {
  const { ask } = openTurns();
  const late = contextOf(ANSWER_MS + 30);
  await expect(ask('a1', late)).rejects.toMatchObject({
    reason: expect.stringMatching(/^It was given up after 0.0[23] s. Ask for less.$/),
  });
});

test('a list whose client leaves ends: in line it is never begun, in work its search is cancelled, and the turn is free', async () => {
  const { begun, ask, end } = openTurns({ atOnce: 1, ofOneTenant: 1 });
  const [first, second] = [contextOf(), contextOf()];
  const lists = [ask('a1', first), ask('a2', second)].map((list) =>
    expect(list).rejects.toMatchObject({ status: 499 }),
  );
  const last = ask('b1');
  await settled();
  leave(second);
  leave(first);
  await Promise.all(lists);
  await settled();
  await end('b1');
  await expect(last).resolves.toBe('b1');
  expect(begun).toEqual(['a1', 'b1']);
});

test('a client that has left already is asked nothing for', async () => {
  const { begun, ask } = openTurns();
  const gone = contextOf();
  leave(gone);
  await expect(ask('a1', gone)).rejects.toMatchObject({ status: 499 });
  expect(begun).toEqual([]);
});

test('one tenant can have only so many lists wait; the next is 429, and another tenant waits all the same', async () => {
  const { ask, begun, end } = openTurns({ atOnce: 1, ofOneTenant: 1 });
  for (let n = 0; n <= MAX_WAITING_LISTS; n += 1) void ask(`a${n}`);
  await expect(ask('a-too-many')).rejects.toMatchObject({ status: 429, headers: { 'Retry-After': '1' } });
  void ask('b1');
  await end('a0');
  await end('a1');
  expect(begun).toEqual(['a0', 'a1', 'b1']);
});

test('to wait until writes are shown takes neither a turn nor time of the list', async () => {
  const { begun, ask, end } = openTurns({ atOnce: 1, ofOneTenant: 1, timeoutMs: 300 });
  let show = (): void => undefined;
  const shown = new Promise<void>((resolve) => {
    show = resolve;
  });
  const waiting = ask('a1', contextOf(), shown);
  await new Promise((resolve) => setTimeout(resolve, 400));
  void ask('a2');
  await settled();
  expect(begun).toEqual(['a2']);
  await end('a2');
  show();
  await settled();
  expect(begun).toEqual(['a2', 'a1']);
  await end('a1');
  expect(await waiting).toBe('a1');
});

test('a request ends in time while it waits until writes are shown', async () => {
  const { begun, ask } = openTurns();
  await expect(ask('a1', contextOf(ANSWER_MS + 60), new Promise(() => undefined))).rejects.toThrow();
  expect(begun).toEqual([]);
});
