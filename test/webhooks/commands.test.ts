import { ConflictError, NotFoundError, ValidationError } from '#app/commands/context.js';
import {
  promoteWebhookSecret,
  regenerateWebhookSecret,
  stageWebhookSecret,
  unstageWebhookSecret,
} from '#app/commands/webhooks/secrets.js';
import {
  changeWebhook,
  createWebhook,
  disableWebhook,
  enableWebhook,
  removeWebhook,
} from '#app/commands/webhooks/settings.js';
import { webhooksStream } from '#app/domain/streams.js';
import { WEBHOOK_EVENT_KINDS } from '#app/domain/webhook/events.js';
import { createSecretBox } from '#app/service/secretBox.js';
import { makeDataDirectory, openService, removeDataDirectory, type Service, TENANT } from './service.js';

const caller = {
  tenant: TENANT,
  actor: { kind: 'operator', id: 'cli' },
  correlationId: 'c',
  causationId: 'c',
} as const;
const anywhere = async (): Promise<undefined> => undefined;
const URL_OK = 'https://erp.example.com/orders';

describe('webhooks of a tenant (spec §6)', () => {
  let directory: string;
  let service: Service;

  beforeAll(async () => {
    directory = await makeDataDirectory();
    service = await openService(directory);
  });

  afterAll(async () => {
    await service.close();
    await removeDataDirectory(directory);
  });

  const known = (id: string) => service.commands.directory.tenant(TENANT)?.webhooks.get(id);
  const create = (body: unknown, checkTarget = anywhere as (url: string) => Promise<string | undefined>) =>
    createWebhook(service.commands, caller, body, checkTarget);

  test('made with its URL alone: named by its host, for approvals, without custom data', async () => {
    const { id, name, secret } = await create({ url: URL_OK });
    expect(name).toBe('erp.example.com');
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(known(id)).toMatchObject({ name, url: URL_OK, events: ['order.approved'], customData: {} });
  });

  test('its secret is nowhere in the log as it is', async () => {
    const { id, secret } = await create({ url: URL_OK, name: 'ERP', custom_data: { warehouse: 'north' } });
    const events = await service.commands.eventStore.readStream(webhooksStream(TENANT));
    expect(JSON.stringify(events)).not.toContain(secret.slice('whsec_'.length));
    expect(service.commands.secretBox.open(known(id)?.sealedSecret ?? '')).toBe(secret);
  });

  /** Types of the events of this webhook, and the data of the last. */
  async function eventsOf(id: string): Promise<{ readonly types: readonly string[]; readonly last: unknown }> {
    const events = (await service.commands.eventStore.readStream(webhooksStream(TENANT))).filter(
      ({ data }) => typeof data === 'object' && data !== null && 'id' in data && data.id === id,
    );
    return { types: events.map(({ type }) => type), last: events.at(-1)?.data };
  }
  const opened = (sealed: string | undefined): string | undefined =>
    sealed === undefined ? undefined : service.commands.secretBox.open(sealed);
  const secretsOf = (id: string) => [opened(known(id)?.sealedSecret), opened(known(id)?.stagedSecret)];
  const change = (id: string, body: unknown) => changeWebhook(service.commands, caller, id, body, anywhere);

  test('made for every kind of event, each once and in the order of the catalogue', async () => {
    const { id } = await create({ url: URL_OK, events: [...WEBHOOK_EVENT_KINDS].reverse().concat('order.created') });
    expect(known(id)?.events).toEqual(WEBHOOK_EVENT_KINDS);
  });

  describe('changed', () => {
    test('only what is other than before is recorded', async () => {
      const { id } = await create({ url: URL_OK, name: 'ERP', custom_data: { a: 1 } });
      const body = { name: 'ERP', url: `${URL_OK}/2`, events: ['order.approved'], custom_data: { a: 1 } };
      await change(id, body);
      expect(await eventsOf(id)).toEqual({
        types: ['WebhookCreated', 'WebhookChanged'],
        last: { id, url: `${URL_OK}/2` },
      });
      await change(id, { events: ['order.updated', 'order.created'], custom_data: { a: 2 }, name: 'New' });
      const expected = { name: 'New', events: ['order.created', 'order.updated'], customData: { a: 2 } };
      expect((await eventsOf(id)).last).toEqual({ id, ...expected });
      expect(known(id)).toMatchObject({ ...expected, url: `${URL_OK}/2` });
    });

    test('nothing is recorded where nothing is other than before', async () => {
      const { id } = await create({ url: URL_OK, name: 'ERP' });
      await change(id, {});
      await change(id, { url: URL_OK, name: 'ERP', events: ['order.approved'], custom_data: {} });
      expect((await eventsOf(id)).types).toEqual(['WebhookCreated']);
    });

    test('the secrets and the switch stay', async () => {
      const { id, secret } = await create({ url: URL_OK });
      const staged = await stageWebhookSecret(service.commands, caller, id);
      await disableWebhook(service.commands, caller, id, { cause: 'gone', reason: 'HTTP 410' });
      await change(id, { name: 'Other' });
      expect(secretsOf(id)).toEqual([secret, staged.secret]);
      expect(known(id)?.disabled).toMatchObject({ cause: 'gone' });
    });

    test.each([
      [{ url: 'http://erp.example.com' }, 'url'],
      [{ url: null }, 'url'],
      [{ events: [] }, 'events'],
      [{ events: ['order.eaten'] }, 'events.0'],
      [{ name: '' }, 'name'],
      [{ custom_data: [] }, 'custom_data'],
      [{ name: 'fine', enabled: false }, 'enabled'],
    ])('%j is refused for its %s, and nothing is recorded', async (body, field) => {
      const { id } = await create({ url: URL_OK });
      await expect(change(id, body)).rejects.toMatchObject({ errors: { [field]: [expect.any(String)] } });
      expect((await eventsOf(id)).types).toEqual(['WebhookCreated']);
    });

    test('a URL that leads to a refused address is refused like a new one', async () => {
      const { id } = await create({ url: URL_OK });
      const refused = changeWebhook(
        service.commands,
        caller,
        id,
        { url: `${URL_OK}/2` },
        async () => 'must be public.',
      );
      await expect(refused).rejects.toThrow(new ValidationError({ url: ['The url field must be public.'] }));
    });
  });

  describe('rotation of the secret', () => {
    test('the staged secret stands beside the other, and takes its place when it is promoted', async () => {
      const { id, secret } = await create({ url: URL_OK });
      const staged = await stageWebhookSecret(service.commands, caller, id);
      expect(staged.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(secretsOf(id)).toEqual([secret, staged.secret]);
      await promoteWebhookSecret(service.commands, caller, id);
      expect(secretsOf(id)).toEqual([staged.secret, undefined]);
    });

    test('a staged secret that is taken back leaves the other as it was', async () => {
      const { id, secret } = await create({ url: URL_OK });
      await stageWebhookSecret(service.commands, caller, id);
      await unstageWebhookSecret(service.commands, caller, id);
      expect(secretsOf(id)).toEqual([secret, undefined]);
      const again = await stageWebhookSecret(service.commands, caller, id);
      expect(secretsOf(id)).toEqual([secret, again.secret]);
    });

    test('a second one waits for the first; of two at once one begins', async () => {
      const { id } = await create({ url: URL_OK });
      const tries = await Promise.allSettled([1, 2].map(() => stageWebhookSecret(service.commands, caller, id)));
      expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(tries.find((result) => result.status === 'rejected')).toMatchObject({ reason: expect.any(ConflictError) });
      expect((await eventsOf(id)).types).toEqual(['WebhookCreated', 'WebhookSecretStaged']);
    });

    test('without a staged secret there is nothing to promote or to take back', async () => {
      const { id, secret } = await create({ url: URL_OK });
      await expect(promoteWebhookSecret(service.commands, caller, id)).rejects.toThrow(ConflictError);
      await expect(unstageWebhookSecret(service.commands, caller, id)).rejects.toThrow(ConflictError);
      expect(secretsOf(id)).toEqual([secret, undefined]);
    });

    test('a regenerated secret ends it', async () => {
      const { id } = await create({ url: URL_OK });
      await stageWebhookSecret(service.commands, caller, id);
      const { secret } = await regenerateWebhookSecret(service.commands, caller, id);
      expect(secretsOf(id)).toEqual([secret, undefined]);
      await expect(promoteWebhookSecret(service.commands, caller, id)).rejects.toThrow(ConflictError);
    });

    test('no secret of it is in the log as it is', async () => {
      const { id } = await create({ url: URL_OK });
      const { secret } = await stageWebhookSecret(service.commands, caller, id);
      await promoteWebhookSecret(service.commands, caller, id);
      const log = JSON.stringify(await service.commands.eventStore.readStream(webhooksStream(TENANT)));
      expect(log).toContain(known(id)?.sealedSecret);
      expect(log).not.toContain(secret.slice('whsec_'.length));
    });
  });

  describe('switched off and on', () => {
    test('it is told why and since when; again changes nothing', async () => {
      const { id } = await create({ url: URL_OK });
      await disableWebhook(service.commands, caller, id, { cause: 'failing', reason: 'Five days without a success.' });
      const { disabled } = known(id) ?? {};
      expect(disabled).toEqual({
        cause: 'failing',
        reason: 'Five days without a success.',
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      });
      await disableWebhook(service.commands, caller, id, { cause: 'admin', reason: 'Maintenance.' });
      expect(known(id)?.disabled).toEqual(disabled);
      await enableWebhook(service.commands, caller, id);
      await enableWebhook(service.commands, caller, id);
      expect(known(id)).not.toHaveProperty('disabled');
      expect((await eventsOf(id)).types).toEqual(['WebhookCreated', 'WebhookDisabled', 'WebhookEnabled']);
    });
  });

  test('a secret that was sealed under another key: a regenerated one can be opened again', async () => {
    const { id } = await create({ url: URL_OK });
    const withNewKey = { ...service.commands, secretBox: createSecretBox(Buffer.alloc(32, 9)) };
    expect(() => withNewKey.secretBox.open(known(id)?.sealedSecret ?? '')).toThrow('another key');
    const { secret } = await regenerateWebhookSecret(withNewKey, caller, id);
    expect(withNewKey.secretBox.open(known(id)?.sealedSecret ?? '')).toBe(secret);
  });

  test('a new secret replaces the old one', async () => {
    const { id, secret } = await create({ url: URL_OK });
    const renewed = await regenerateWebhookSecret(service.commands, caller, id);
    expect(renewed.secret).not.toBe(secret);
    expect(service.commands.secretBox.open(known(id)?.sealedSecret ?? '')).toBe(renewed.secret);
  });

  test('once removed it is unknown', async () => {
    const { id } = await create({ url: URL_OK });
    await removeWebhook(service.commands, caller, id);
    expect(known(id)).toBeUndefined();
    const off = { cause: 'gone', reason: 'HTTP 410' } as const;
    for (const command of [
      () => removeWebhook(service.commands, caller, id),
      () => regenerateWebhookSecret(service.commands, caller, id),
      () => stageWebhookSecret(service.commands, caller, id),
      () => promoteWebhookSecret(service.commands, caller, id),
      () => unstageWebhookSecret(service.commands, caller, id),
      () => enableWebhook(service.commands, caller, id),
      () => disableWebhook(service.commands, caller, id, off),
      () => change(id, { name: 'ERP' }),
    ]) {
      await expect(command()).rejects.toThrow(NotFoundError);
    }
  });

  test('made by many at once, all are there', async () => {
    const made = await Promise.all(
      Array.from({ length: 5 }, (_, i) => create({ url: `https://erp.example.com/${i}` })),
    );
    for (const { id } of made) expect(known(id)).toBeDefined();
  });

  test.each([
    [{}, 'url'],
    [{ url: 'http://erp.example.com' }, 'url'],
    [{ url: 'https://user:pw@erp.example.com' }, 'url'],
    [{ url: 7 }, 'url'],
    [{ url: URL_OK, events: [] }, 'events'],
    [{ url: URL_OK, events: ['order.eaten'] }, 'events.0'],
    [{ url: URL_OK, events: 'order.approved' }, 'events'],
    [{ url: URL_OK, name: '' }, 'name'],
    [{ url: URL_OK, custom_data: ['a'] }, 'custom_data'],
    [{ url: URL_OK, custom_data: { a: 'x'.repeat(70_000) } }, 'custom_data'],
    [{ url: URL_OK, secret: 'mine' }, 'secret'],
    ['nonsense', 'body'],
  ])('%j is refused for its %s', async (body, field) => {
    const before = [...(service.commands.directory.tenant(TENANT)?.webhooks.keys() ?? [])];
    await expect(create(body)).rejects.toMatchObject({
      name: 'ValidationError',
      errors: { [field]: [expect.any(String)] },
    });
    expect([...(service.commands.directory.tenant(TENANT)?.webhooks.keys() ?? [])]).toEqual(before);
  });

  test('a URL that leads to a refused address is refused with the reason', async () => {
    const refused = create({ url: URL_OK }, async () => 'must lead to a public address.');
    await expect(refused).rejects.toThrow(
      new ValidationError({ url: ['The url field must lead to a public address.'] }),
    );
  });

  test('a tenant that does not exist has none', async () => {
    const stranger = { ...caller, tenant: 'nobody' };
    await expect(createWebhook(service.commands, stranger, { url: URL_OK }, anywhere)).rejects.toThrow(NotFoundError);
  });
});
