import { dynParty } from '#app/domain/assetTypes/define.js';
import { MAX_DIFFERENCE_CHARACTERS, MAX_DIFFERENCES } from '#app/domain/limits.js';
import { type KnownRecord, upsertBatch } from '#app/domain/referenceTable/decide.js';
import {
  batchDifferences,
  cleanUpDifferences,
  type Difference,
  firstDifferences,
} from '#app/domain/referenceTable/differences.js';

const acme: KnownRecord = {
  id: 'id of acme',
  batchId: 'monday',
  fields: { external_id: 'acme', name: 'Acme', city_name: null },
};
const known = {
  byKey: (key: string) => (key === 'acme' ? acme : undefined),
  byId: (id: string) => (id === acme.id ? acme : undefined),
  formerId: (key: string) => (key === 'again' ? 'former id' : undefined),
};

it('a batch: what is created and updated, field by field; the id of what is created where it is known', () => {
  const items = [
    { external_id: 'new', name: 'New', city_name: null },
    { external_id: 'acme', name: 'Acme', city_name: 'Gent' },
    { external_id: 'again', name: 'Again' },
  ];
  const newIds = ['a', 'b', 'c'];
  const decision = upsertBatch(
    dynParty,
    items.map((fields) => ({ fields })),
    newIds,
    known,
  );
  if (!decision.ok) throw new Error('The batch is refused.');
  expect([...batchDifferences(dynParty, decision.events, known, newIds)]).toEqual([
    {
      change: 'create',
      id: null,
      key: 'new',
      fields: { external_id: { from: null, to: 'new' }, name: { from: null, to: 'New' } },
    },
    {
      change: 'create',
      id: 'former id',
      key: 'again',
      fields: { external_id: { from: null, to: 'again' }, name: { from: null, to: 'Again' } },
    },
    { change: 'update', id: 'id of acme', key: 'acme', fields: { city_name: { from: null, to: 'Gent' } } },
  ]);
});

it('a clean-up: what would go, without what is unset', () => {
  expect([...cleanUpDifferences(dynParty, [acme])]).toEqual([
    {
      change: 'delete',
      id: 'id of acme',
      key: 'acme',
      fields: { external_id: { from: 'acme', to: null }, name: { from: 'Acme', to: null } },
    },
  ]);
});

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
