import type { RecordedEvent } from '#app/ports/eventStore.js';
import type { Parked } from '#app/ports/projectionProgress.js';
import { type CommitContent, type ProjectedTraces, reportTraces } from '#app/projector/projectedTraces.js';

const NEW = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OTHER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** @param minutesAgo when it was made */
const made = (position: number, traceparent?: string, minutesAgo = 0): RecordedEvent => ({
  id: `event-${position}`,
  type: 'RecordCreated',
  data: {},
  stream: 'table-acme.dyn_item',
  revision: position,
  position,
  metadata: {
    tenant: 'acme',
    actor: { kind: 'system', id: 'test' },
    correlationId: '',
    causationId: '',
    occurredAt: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
    schemaVersion: 1,
    traceparent,
  },
});

async function told(
  events: readonly RecordedEvent[],
  project: () => Promise<CommitContent> = async () => ({ events, parked: [] }),
): Promise<readonly ProjectedTraces[]> {
  const heard: ProjectedTraces[] = [];
  await reportTraces(
    (projected) => heard.push(projected),
    () => events,
    project,
  ).catch(() => undefined);
  return heard;
}

it('a commit is told with the events of each trace in it, and with how many there were in all', async () => {
  const [projected, ...others] = await told([made(1, NEW), made(2, OTHER), made(3), made(4, NEW)]);
  expect(others).toEqual([]);
  expect(projected).toMatchObject({ events: 4, parked: new Set() });
  expect(projected?.traces).toEqual(
    new Map([
      [NEW, 2],
      [OTHER, 1],
    ]),
  );
  expect(projected?.endedAt).toBeGreaterThanOrEqual(projected?.startedAt ?? Number.NaN);
});

it('what is of no trace is not told, nor what is projected an hour after it was made: a rebuild fills no old traces', async () => {
  expect(await told([made(1), made(2)])).toEqual([]);
  expect(await told([made(1, NEW, 61), made(2)])).toEqual([]);
  expect(await told([made(1, NEW, 59)])).toHaveLength(1);
});

it('an event that is parked is the failure of its own trace only', async () => {
  const parked = { eventId: 'event-2' } as Parked;
  const events = [made(1, NEW), made(2, OTHER)];
  const [projected] = await told(events, async () => ({ events, parked: [parked] }));
  expect(projected).toMatchObject({ parked: new Set([OTHER]) });
  expect(projected).not.toHaveProperty('failure');
});

it('a commit that fails is told with its error, which goes on to whoever started it', async () => {
  const fail = () => Promise.reject(new TypeError('no'));
  expect(await told([made(1, NEW)], fail)).toMatchObject([{ failure: 'TypeError' }]);
  await expect(
    reportTraces(
      () => undefined,
      () => [made(1, NEW)],
      fail,
    ),
  ).rejects.toThrow('no');
});
