import {
  type CleanUpGuard,
  type CleanUpRequest,
  RECOMMENDED_GUARD,
  refusalOfCleanUp,
} from '#app/domain/referenceTable/cleanUpGuard.js';

const guard = (maxPercent: number): CleanUpGuard => ({ maxPercent });

type Case = readonly [string, CleanUpGuard | undefined, Partial<CleanUpRequest>, [number, number], string | undefined];

it.each<Case>([
  ['no guard', undefined, {}, [10, 0], undefined],
  ['no guard, the number confirmed', undefined, { confirm: 10 }, [10, 0], undefined],
  ['no guard, another number confirmed', undefined, { confirm: 9 }, [10, 0], 'confirm'],
  ['nothing to delete, another number confirmed', undefined, { confirm: 1 }, [0, 10], 'confirm'],
  ['a batch id that no record has', guard(100), {}, [10, 0], 'batch_id'],
  ['a batch id that no record has, the number confirmed', guard(0), { confirm: 10 }, [10, 0], undefined],
  ['an empty table', guard(0), {}, [0, 0], undefined],
  ['nothing to delete', guard(0), {}, [0, 10], undefined],
  ['as much as may be deleted', guard(20), {}, [2, 8], undefined],
  ['one record more', guard(20), {}, [3, 8], 'confirm'],
  ['one record more, the number confirmed', guard(20), { confirm: 3 }, [3, 8], undefined],
  ['any record, of a guard that lets none go', guard(0), {}, [1, 999_999], 'confirm'],
  ['all but one, of a guard that lets all go', guard(100), {}, [999_999, 1], undefined],
  ['the recommended guard: all of a table, 100 records', RECOMMENDED_GUARD, {}, [100, 0], undefined],
  ['the recommended guard: all of a table, 101 records', RECOMMENDED_GUARD, {}, [101, 0], 'batch_id'],
  ['the recommended guard: nearly all of a table, 100 records', RECOMMENDED_GUARD, {}, [100, 1], undefined],
  ['the recommended guard: half of a table', RECOMMENDED_GUARD, {}, [5000, 5000], undefined],
  ['the recommended guard: more than half of a table', RECOMMENDED_GUARD, {}, [5001, 5000], 'confirm'],
  [
    'the recommended guard: more than half of a table, the number confirmed',
    RECOMMENDED_GUARD,
    { confirm: 101 },
    [101, 9],
    undefined,
  ],
  [
    'the recommended guard: few records, another number confirmed',
    RECOMMENDED_GUARD,
    { confirm: 2 },
    [3, 1],
    'confirm',
  ],
])('%s', (_what, guardOfTenant, request, [deleted, kept], refused) => {
  const refusal = refusalOfCleanUp(guardOfTenant, { batchId: 'b', ...request }, { deleted, kept });
  expect(Object.keys(refusal ?? {})).toEqual(refused === undefined ? [] : [refused]);
  if (refused !== undefined) expect(JSON.stringify(refusal)).toContain(`${deleted}`);
});
