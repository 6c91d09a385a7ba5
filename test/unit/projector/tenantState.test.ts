/** Which states of a tenant's part of a projection answer reads, and what the others say. */
import type { Parked } from '#app/ports/projectionProgress.js';
import { parkedState, RUNNING, refusalIn, type TenantState } from '#app/projector/tenantState.js';

const parked: Parked = {
  tenant: 'acme',
  projection: 'records',
  checkpoint: 6,
  position: 7,
  eventId: 'an id',
  eventType: 'RecordCreated',
  error: 'for operators',
  since: '2026-11-22T12:00:00.000Z',
  retryAsked: false,
};
const refusal = (state: TenantState) => refusalIn(state, 'records', 60);

test('reads are answered while the tenant is running, or behind by no more than is allowed', () => {
  expect(refusal(RUNNING)).toBeUndefined();
  expect(refusal({ kind: 'behind', seconds: 60 })).toBeUndefined();
  expect(refusal({ kind: 'behind', seconds: 61 })).toBe(
    'The read models of this tenant are 61 seconds behind what was written, more than the 60 that are allowed.',
  );
});

test('reads are refused while the projection is filled', () => {
  expect(refusal({ kind: 'filling', position: 9, of: 12 })).toBe(
    'The read model records is being filled: it is at position 9 of 12.',
  );
});

test('reads are refused while the tenant is parked, and until a retry has succeeded; the error is for operators', () => {
  const retrying = parkedState({ ...parked, retryAsked: true });
  expect([parkedState(parked).kind, retrying.kind]).toEqual(['parked', 'retrying']);
  for (const state of [parkedState(parked), retrying]) {
    expect(refusal(state)).toBe(
      'The records of this tenant are not shown: the event RecordCreated at position 7 could not be applied. Nothing is lost; an operator has to act.',
    );
  }
});
