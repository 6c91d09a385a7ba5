import { laneIndex } from '#app/projector/lanes.js';

const names = Array.from({ length: 1000 }, (_, number) => `tenant-${number}`);

test('tenants are spread over the lanes by their names', () => {
  const lanes = names.map((name) => laneIndex(name, 4));
  for (const lane of [0, 1, 2, 3]) expect(lanes.filter((each) => each === lane).length).toBeGreaterThan(200);
  expect(names.every((name) => laneIndex(name, 1) === 0)).toBe(true);
});

test('of tenants that are numbered each lane has as many as the others', () => {
  const lanes = Array.from({ length: 8 }, (_, number) => laneIndex(`t${number}`, 2));
  expect(lanes.filter((lane) => lane === 0)).toHaveLength(4);
});

test('no release moves a tenant to another lane without another LANE_RULE: its read models are where they were', () => {
  expect(['acme', 'globex', 'initech', 'umbrella'].map((name) => laneIndex(name, 2))).toEqual([0, 1, 0, 0]);
});
