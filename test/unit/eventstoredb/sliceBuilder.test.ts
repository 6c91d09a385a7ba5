import { Progress } from '#app/adapters/eventstore/eventstoredb/sliceBuilder.js';

test('an event moves the position to itself, never back', () => {
  const progress = new Progress(10, 100);
  progress.delivered(40);
  progress.delivered(30);
  expect(progress.position).toBe(40);
});

test('a checkpoint vouches for the one before it', () => {
  const progress = new Progress(10, 100);
  progress.checkpoint(50);
  expect(progress.position).toBe(10);
  progress.checkpoint(50);
  expect(progress.position).toBe(10);
  progress.checkpoint(60);
  expect(progress.position).toBe(50);
});

test('the end of the catch-up vouches for the head that was read before', () => {
  const progress = new Progress(10, 100);
  progress.caughtUp();
  expect(progress.position).toBe(100);
});

test('a head behind the position changes nothing', () => {
  const progress = new Progress(10, 0);
  progress.caughtUp();
  expect(progress.position).toBe(10);
});
