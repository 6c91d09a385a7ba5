/** A request with a key, whatever it does: who sends it again has the answer that stands in the key's stream. */
import { carryOutOnce, type Work } from '#app/commands/keyedRequest.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const KEY = { table: 'dyn_item', key: 'k', body: { code: 'A', note: null, tags: [] } };

type Answer = { readonly made: string };

/** A process that shares the log with the others. Its work is of one append to its own stream. */
function processOn(log: LogInMemory, name: string) {
  const commands = log.commands();
  const runs: { readonly isNew: boolean }[] = [];
  const send = (work: Partial<Work<Answer>> = {}, named = KEY) =>
    carryOutOnce<Answer>(commands, caller, named, {
      find: async () => undefined,
      run: async (_request, isNew) => {
        runs.push({ isNew });
        return { made: name, position: log.position };
      },
      ...work,
    });
  return { send, runs };
}
const keyStream = (log: LogInMemory): string => log.streams('request')[0] ?? '';

test('two processes that carry it out at the same time have one answer, and neither says that it was replayed', async () => {
  const log = new LogInMemory();
  const [one, two] = [processOn(log, 'one'), processOn(log, 'two')];
  await one.send({ run: () => Promise.reject(new Error('died')) }).catch(() => undefined);
  log.beforeAppend(keyStream(log), () => two.send());
  const answer = await one.send();
  expect(answer).toMatchObject({ made: 'two', isReplayed: false });
  expect(await one.send()).toMatchObject({ made: 'two', isReplayed: true });
});

test('what was done stands, where its answer cannot be noted', async () => {
  const log = new LogInMemory();
  const one = processOn(log, 'one');
  log.dieAtAppend(2, false);
  expect(await one.send()).toMatchObject({ made: 'one' });
});

test('what was done and not noted is found, and not done again', async () => {
  const log = new LogInMemory();
  const one = processOn(log, 'one');
  await one.send({ run: () => Promise.reject(new Error('died')) }).catch(() => undefined);
  const find = async () => ({ made: 'before', position: 1, isReplayed: true });
  expect(await one.send({ find })).toMatchObject({ made: 'before', isReplayed: true });
  expect(one.runs).toEqual([]);
});

test('a new request is not looked for; one that was not carried out is run as no new one', async () => {
  const log = new LogInMemory();
  const one = processOn(log, 'one');
  const find = jest.fn();
  await one.send({ find, run: () => Promise.reject(new Error('died')) }).catch(() => undefined);
  expect(find).not.toHaveBeenCalled();
  await one.send();
  expect(one.runs).toEqual([{ isNew: false }]);
});

test('sent again while it is carried out, it waits for that', async () => {
  const log = new LogInMemory();
  const one = processOn(log, 'one');
  const answers = await new Promise<readonly Promise<Answer>[]>((resolve) => {
    const first: Promise<Answer> = one.send({
      run: async () => {
        const again = [one.send(), one.send()];
        resolve([first, ...again]);
        // Both have found the key taken.
        for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
        return { made: 'first', position: log.position };
      },
    });
  });
  const [first, ...again] = await Promise.all(answers);
  expect(first).not.toHaveProperty('isReplayed');
  expect(again).toEqual([1, 2].map(() => expect.objectContaining({ made: 'first', isReplayed: true })));
  expect(one.runs).toEqual([]);
});

test.each<[string, unknown, boolean]>([
  ['members in another order', { tags: [], note: null, code: 'A' }, true],
  ['an object instead of null', { code: 'A', note: {}, tags: [] }, false],
  ['an object instead of a list', { code: 'A', note: null, tags: {} }, false],
  ['a list in another order', { code: 'A', note: null, tags: ['b', 'a'] }, false],
])('a body with %s: the same one is %s', async (_what, body, isSame) => {
  const one = processOn(new LogInMemory(), 'one');
  await one.send();
  const again = one.send({}, { ...KEY, body: body as typeof KEY.body });
  await (isSame ? expect(again).resolves.toMatchObject({ isReplayed: true }) : expect(again).rejects.toThrow('body'));
});
