import { Progress } from '#app/adapters/eventstore/eventstoredb/sliceBuilder.js';

test('an event moves the position to itself, never back', () => {
  const progress = new Progress({ position: 10 }, { position: 100 });
  progress.delivered({ position: 40 });
  progress.delivered({ position: 30 });
  expect(progress.position).toBe(40);
});

test('a checkpoint vouches for the one before it', () => {
  const progress = new Progress({ position: 10 }, { position: 100 });
  progress.checkpoint(50);
  expect(progress.position).toBe(10);
  progress.checkpoint(50);
  expect(progress.position).toBe(10);
  progress.checkpoint(60);
  expect(progress.position).toBe(50);
});

test('the end of the catch-up vouches for the head that was read before', () => {
  const progress = new Progress({ position: 10 }, { position: 100 });
  progress.caughtUp();
  expect(progress.position).toBe(100);
});

test('a head behind the position changes nothing', () => {
  const progress = new Progress({ position: 10 }, { position: 0 });
  progress.caughtUp();
  expect(progress.position).toBe(10);
});

test('it knows the event at its position, where somebody told', () => {
  const progress = new Progress({ position: 10, eventId: 'a' }, { position: 40, eventId: 'c' });
  expect(progress.eventId).toBe('a');
  progress.delivered({ position: 20, eventId: 'b' });
  expect(progress.eventId).toBe('b');
  for (const position of [30, 40, 50]) progress.checkpoint(position);
  expect(progress).toMatchObject({ position: 40, eventId: undefined });
  progress.caughtUp();
  expect(progress).toMatchObject({ position: 40, eventId: 'c' });
});
