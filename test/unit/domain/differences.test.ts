import { MAX_DIFFERENCE_CHARACTERS, MAX_DIFFERENCES } from '#app/domain/limits.js';
import { type Difference, firstDifferences } from '#app/domain/referenceTable/differences.js';

it('the first ones are shown, as many as there is room for, but one', () => {
  let made = 0;
  function* differences(name: string): Generator<Difference> {
    for (;;) {
      made += 1;
      yield { change: 'update', id: 'id', key: 'key', fields: { name: { from: null, to: name } } };
    }
  }
  expect(firstDifferences(differences('x'))).toHaveLength(MAX_DIFFERENCES);
  expect(made).toBe(MAX_DIFFERENCES);
  expect(firstDifferences(differences('x'.repeat(MAX_DIFFERENCE_CHARACTERS / 4)))).toHaveLength(3);
  expect(firstDifferences(differences('x'.repeat(MAX_DIFFERENCE_CHARACTERS * 2)))).toHaveLength(1);
  expect(firstDifferences([])).toEqual([]);
});
