import { evolveTenant, type Tenant, type Webhook, wantedAfter } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import type { WebhookEventKind } from '#app/domain/webhook/events.js';

const AT = '2026-11-21T03:11:47.123456Z';
const data = {
  id: 'w1',
  name: 'ERP',
  url: 'https://erp.example.com/orders',
  events: ['order.approved'],
  customData: { company: 7 },
  sealedSecret: 'v1.first',
} as const;
const created: DirectoryEvent = { type: 'WebhookCreated', data };
const made: Webhook = { ...data, createdAt: AT, startedAt: AT };

const TENANT: DirectoryEvent = {
  type: 'TenantCreated',
  data: { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' },
};

/** The webhooks of a tenant after these events. */
function given(...events: readonly DirectoryEvent[]): readonly Webhook[] {
  const folded = [TENANT, ...events].reduce<Tenant | undefined>(
    (state, event) => evolveTenant(state, event, AT),
    undefined,
  );
  return [...(folded?.webhooks.values() ?? [])];
}

const staged: DirectoryEvent = { type: 'WebhookSecretStaged', data: { id: 'w1', sealedSecret: 'v1.second' } };
const promoted: DirectoryEvent = { type: 'WebhookSecretPromoted', data: { id: 'w1' } };
const disabled: DirectoryEvent = {
  type: 'WebhookDisabled',
  data: { id: 'w1', cause: 'gone', reason: 'The receiver answered 410 Gone.' },
};
const enabled: DirectoryEvent = { type: 'WebhookEnabled', data: { id: 'w1' } };

describe('a webhook as the directory folds it', () => {
  const renamed: DirectoryEvent = { type: 'WebhookChanged', data: { id: 'w1', name: 'WMS', customData: {} } };
  const regenerated: DirectoryEvent = {
    type: 'WebhookSecretRegenerated',
    data: { id: 'w1', sealedSecret: 'v1.third' },
  };
  const unstaged: DirectoryEvent = { type: 'WebhookSecretUnstaged', data: { id: 'w1' } };
  const resealed = (sealed: { sealedSecret?: string; sealedStagedSecret?: string }): DirectoryEvent => ({
    type: 'WebhookSecretsResealed',
    data: { id: 'w1', ...sealed },
  });
  const backfill: DirectoryEvent = {
    type: 'WebhookBackfillRequested',
    data: { id: 'w1', backfillId: 'b1', kinds: ['order.created'], from: AT, to: AT },
  };

  test.each<[what: string, events: readonly DirectoryEvent[], webhook: Webhook]>([
    ['made', [created], made],
    ['changed: what is not named stays', [created, renamed], { ...made, name: 'WMS', customData: {} }],
    [
      'it wants more: since when is known',
      [created, { type: 'WebhookChanged', data: { id: 'w1', events: ['order.approved', 'order.created'] } }],
      { ...made, events: ['order.approved', 'order.created'], addedKinds: [{ kind: 'order.created', position: 0 }] },
    ],
    ['a staged secret stands beside', [created, staged], { ...made, stagedSecret: 'v1.second' }],
    ['promoted: it is the only one', [created, staged, promoted], { ...made, sealedSecret: 'v1.second' }],
    ['taken back: the first is the only one', [created, staged, unstaged], made],
    [
      'regenerated: a rotation under way is over',
      [created, staged, regenerated],
      { ...made, sealedSecret: 'v1.third' },
    ],
    ['promoted without a staged one: nothing changes', [created, promoted], made],
    [
      'disabled, with cause and time',
      [created, disabled],
      { ...made, disabled: { cause: 'gone', reason: 'The receiver answered 410 Gone.', since: AT } },
    ],
    ['enabled again', [created, disabled, enabled], made],
    [
      'sealed anew, with a rotation that goes on',
      [created, staged, resealed({ sealedSecret: 'v1.1', sealedStagedSecret: 'v1.2' })],
      { ...made, sealedSecret: 'v1.1', stagedSecret: 'v1.2' },
    ],
    [
      'the primary secret sealed anew: a staged one stays',
      [created, staged, resealed({ sealedSecret: 'v1.1' })],
      { ...made, sealedSecret: 'v1.1', stagedSecret: 'v1.second' },
    ],
    [
      'the staged secret sealed anew: the primary one stays',
      [created, staged, resealed({ sealedStagedSecret: 'v1.2' })],
      { ...made, stagedSecret: 'v1.2' },
    ],
    [
      'sealed anew, then promoted',
      [created, staged, resealed({ sealedStagedSecret: 'v1.2' }), promoted],
      { ...made, sealedSecret: 'v1.2' },
    ],
    [
      'sealed anew without a rotation',
      [created, resealed({ sealedSecret: 'v1.1' })],
      { ...made, sealedSecret: 'v1.1' },
    ],
    ['a backfill leaves it as it is', [created, backfill], made],
  ])('%s', (_what, events, webhook) => expect(given(...events)).toEqual([webhook]));

  test('a kind is wanted from when it was added last, and what was not named then stays', () => {
    const wants = (...events: readonly WebhookEventKind[]): DirectoryEvent => ({
      type: 'WebhookChanged',
      data: { id: 'w1', events },
    });
    const steps: readonly (readonly [position: number, event: DirectoryEvent])[] = [
      [1, TENANT],
      [2, created],
      [3, wants('order.approved', 'order.created')],
      [4, wants('order.approved', 'order.created', 'order.updated')],
      [5, renamed],
      [6, wants('order.approved')],
      [7, wants('order.approved', 'order.created')],
    ];
    const placesAfter = (end: number): readonly number[] => {
      const [webhook] =
        steps
          .filter(([position]) => position <= end)
          .reduce<Tenant | undefined>(
            (tenant, [at, event]) => evolveTenant(tenant, event, AT, undefined, at),
            undefined,
          )
          ?.webhooks.values() ?? [];
      return webhook?.events.map((kind) => wantedAfter(webhook, kind)) ?? [];
    };
    expect(placesAfter(5)).toEqual([2, 3, 4]);
    expect(placesAfter(6)).toEqual([2]);
    expect(placesAfter(7)).toEqual([2, 7]);
  });

  test('removed it is unknown, and later events about it change nothing', () => {
    expect(given(created, { type: 'WebhookRemoved', data: { id: 'w1' } }, staged, disabled, renamed)).toEqual([]);
  });

  test('changed or enabled it starts anew; being disabled or a new secret starts nothing', () => {
    const steps = [created, disabled, staged, enabled, renamed, promoted];
    const times = steps.map((_, second) => `2026-11-21T03:11:0${second}.000000Z`);
    let tenant = evolveTenant(undefined, TENANT, AT);
    const starts = steps.map((event, second) => {
      tenant = evolveTenant(tenant, event, times[second] ?? '');
      return tenant?.webhooks.get('w1')?.startedAt;
    });
    expect(starts).toEqual([0, 0, 0, 3, 4, 4].map((second) => times[second]));
  });

  test('events about one leave the other alone', () => {
    const other: DirectoryEvent = { type: 'WebhookCreated', data: { ...data, id: 'w2' } };
    expect(given(created, other, staged, disabled).at(1)).toEqual({ ...made, id: 'w2' });
  });
});
