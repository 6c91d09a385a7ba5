import { type CountedEvent, LogTally } from '#app/domain/logUsage.js';

const AT = Date.parse('2026-11-21T12:00:00.000Z');
const minutes = (count: number): number => count * 60_000;

const counted = (position: number, stream: string, changes: Partial<CountedEvent> = {}): CountedEvent => ({
  stream,
  position,
  type: 'RecordChanged',
  bytes: 100,
  occurredAt: new Date(AT).toISOString(),
  ...changes,
});

const log = [
  counted(1, 'log-identity'),
  counted(2, 'tenant-acme', { type: 'TenantCreated' }),
  counted(3, 'table-acme.dyn_item', { bytes: 5_000 }),
  counted(4, 'table-other.dyn_item'),
  counted(5, 'webhooks-acme', { type: 'WebhookCreated' }),
  counted(6, 'webhooks-acme', { type: 'WebhookEnabled' }),
  counted(7, 'client-acme.7', { type: 'ApiClientUsed' }),
  counted(8, 'delivery-acme.1', { type: 'DeliveryRequested' }),
];

const tallied = (slices: readonly (readonly CountedEvent[])[]): LogTally => {
  const tally = new LogTally();
  for (const slice of slices) tally.add(slice, slice.at(-1)?.position ?? 0);
  return tally;
};
const shown = (tally: LogTally) => ({ position: tally.position, tenants: [...tally.entries()] });

test('bytes and events are counted by tenant, and the log itself belongs to none', () => {
  const tally = tallied([log]);
  expect(tally.of('acme')).toEqual({ bytes: 5_500, events: 6 });
  expect(tally.of('other')).toEqual({ bytes: 100, events: 1 });
  expect(tally.of('identity')).toEqual({ bytes: 0, events: 0 });
});

test('events at or before the position are not counted again, however slices are repeated or overlap', () => {
  const once = shown(tallied([log]));
  expect(shown(tallied([log, log]))).toEqual(once);
  expect(shown(tallied([log.slice(0, 5), log.slice(2, 6), log.slice(0, 3), log.slice(4)]))).toEqual(once);
  expect(shown(tallied(log.map((event) => [event])))).toEqual(once);
});

test('settings and replays count for an hour, by the time of the event', () => {
  const tally = tallied([log]);
  expect(tally.inLastHour('acme', AT)).toEqual({ bytes: 5_500, settings: 2, replays: 1 });
  const occurredAt = new Date(AT + minutes(30)).toISOString();
  tally.add([counted(9, 'users-acme', { type: 'UserAdded', occurredAt })], 9);
  // The operator's own changes are not counted for the tenant.
  tally.add([counted(10, 'tenant-acme', { type: 'QuotasChanged', bytes: 1 })], 10);
  expect(tally.inLastHour('acme', AT + minutes(40)).settings).toBe(3);
  expect(tally.inLastHour('acme', AT + minutes(65))).toEqual({ bytes: 100, settings: 1, replays: 0 });
  expect(tally.inLastHour('acme', AT + minutes(100)).settings).toBe(0);
  expect(tally.of('acme').events).toBe(8);
});

test('the largest grower is the tenant whose log grew most in the last hour', () => {
  const tally = tallied([log]);
  expect(tally.largestGrower(AT)).toBe('acme');
  const occurredAt = new Date(AT + minutes(30)).toISOString();
  tally.add([counted(9, 'table-other.dyn_item', { bytes: 6_000, occurredAt })], 9);
  expect(tally.largestGrower(AT + minutes(30))).toBe('other');
  expect(tally.largestGrower(AT + minutes(200))).toBeUndefined();
});

test('a deleted tenant has nothing any more', () => {
  const tally = tallied([log]);
  tally.add([counted(9, 'tenant-acme', { type: 'TenantDeleted' })], 9);
  expect(tally.of('acme')).toEqual({ bytes: 0, events: 0 });
  expect(tally.largestGrower(AT)).toBe('other');
});

test('refused sign-ins count for nobody, since strangers cause them; sign-ins do', () => {
  const tally = tallied([log]);
  tally.add(
    [counted(9, 'access-acme', { type: 'SignInRefused' }), counted(10, 'access-acme', { type: 'SignedIn' })],
    10,
  );
  expect(tally.of('acme')).toEqual({ bytes: 5_600, events: 7 });
});
