import { NotFoundError, ValidationError } from '#app/commands/context.js';
import { createWebhook, regenerateWebhookSecret, removeWebhook } from '#app/commands/webhooks.js';
import { webhooksStream } from '#app/domain/streams.js';
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
    await expect(removeWebhook(service.commands, caller, id)).rejects.toThrow(NotFoundError);
    await expect(regenerateWebhookSecret(service.commands, caller, id)).rejects.toThrow(NotFoundError);
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
