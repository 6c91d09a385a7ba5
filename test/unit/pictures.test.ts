/** Each picture of a guide is one that a test of the console makes, so that none is of a page that is gone. */
import { readdirSync, readFileSync, statSync } from 'node:fs';

const [GUIDES, PICTURES, TESTS] = ['docs/guides', 'docs/pictures', 'test/console'];
const textsIn = (folder: string) => readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, 'utf8'));

test('guides show the pictures that tests of the console make, each in at most 150 KB, and no others are kept', () => {
  const shown = textsIn(GUIDES).flatMap((text) => [...text.matchAll(/\.\.\/pictures\/([\w-]+)\.png/g)]);
  const names = shown.map(([, name = '']) => name);
  expect(readdirSync(PICTURES).sort()).toEqual(names.map((name) => `${name}.png`).sort());
  const tests = textsIn(TESTS).join('');
  expect(names.filter((name) => !tests.includes(`.screenshot('${name}')`))).toEqual([]);
  expect(names.filter((name) => statSync(`${PICTURES}/${name}.png`).size > 150_000)).toEqual([]);
});
