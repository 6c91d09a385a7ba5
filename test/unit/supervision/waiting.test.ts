import { nextTurn } from '#app/supervision/waiting.js';

test('groups go on in turn, and each of their callers in order', async () => {
  const wentOn: string[] = [];
  const wait = async (group: string, name: string) => {
    await nextTurn(group);
    wentOn.push(name);
  };
  const many = ['a1', 'a2', 'a3', 'a4'].map((name) => wait('a', name));
  await Promise.all([...many, wait('b', 'b1'), wait('c', 'c1'), wait('b', 'b2')]);
  expect(wentOn).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});
