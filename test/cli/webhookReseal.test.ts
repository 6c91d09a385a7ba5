/** docs/webhooks.md, "Change SECRETS_KEY": on a real data directory, beside a service and without one. */
import { join } from 'node:path';
import { z } from 'zod';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { newId, now } from '#app/commands/clock.js';
import type { SecretBox } from '#app/commands/context.js';
import { rotateWebhookSecret } from '#app/commands/webhooks/settings.js';
import { Directory } from '#app/projections/directory/directory.js';
import { createSecretBox } from '#app/service/keys.js';
import { type Environment, Workplace } from './cli.js';

const keyOf = (byte: number): Buffer => Buffer.alloc(32, byte);
const withKeys = (...bytes: readonly number[]) => ({
  SECRETS_KEY: bytes.map((byte) => keyOf(byte).toString('base64')).join(','),
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
});
const [OLD, NEW, LOST] = [1, 2, 3] as const;
const RESEAL = ['webhook', 'reseal'];

let workplace: Workplace;
/** With the tenants acme and other; no secret is sealed yet. */
let withTenants: Workplace;
beforeAll(async () => {
  withTenants = await Workplace.make();
  for (const name of ['acme', 'other']) {
    await withTenants.json(['tenant', 'create', name, '--order-model', 'dyn_stock_order'], withKeys(OLD));
  }
});
afterAll(() => withTenants.remove());
beforeEach(async () => {
  workplace = await withTenants.copy();
});
afterEach(() => workplace.remove());

const shown = z.object({ id: z.string(), secret: z.string() });
type Shown = z.output<typeof shown>;

async function makeWebhook(tenant: string, environment: Environment): Promise<Shown> {
  const create = ['webhook', 'create', '--tenant', tenant, '--url', 'https://127.0.0.1/hook'];
  return shown.parse(await workplace.json(create, environment));
}

async function rotate(tenant: string, id: string, environment: Environment): Promise<string> {
  const eventStore = await openSqliteEventStore({ file: join(workplace.directory, 'data', 'events.db') });
  try {
    const secretBox = createSecretBox(Buffer.from(environment.SECRETS_KEY?.split(',')[0] ?? '', 'base64'));
    const commands = { eventStore, directory: { waitFor: async () => undefined }, now, newId, secretBox };
    const caller = {
      tenant,
      actor: { kind: 'operator', id: 'test' },
      correlationId: newId(),
      causationId: newId(),
    } as const;
    return (await rotateWebhookSecret(commands, caller, id)).secret;
  } finally {
    await eventStore.close();
  }
}

/** Of tenant acme two webhooks, one rotated, and of tenant other one; under these keys. */
async function makeWebhooks(environment: Environment) {
  const still = await makeWebhook('acme', environment);
  const rotating = await makeWebhook('acme', environment);
  const rotated = await rotate('acme', rotating.id, environment);
  const other = await makeWebhook('other', environment);
  const secrets = { [still.id]: still.secret, [rotating.id]: rotated, [other.id]: other.secret };
  return { still, rotating, other, secrets };
}

/** The secrets that sign for each webhook, opened with this box from the log. */
async function secretsIn(box: Pick<SecretBox, 'open'>): Promise<{ readonly [id: string]: string }> {
  const eventStore = await openSqliteEventStore({ file: join(workplace.directory, 'data', 'events.db') });
  const directory = await Directory.start(eventStore, () => undefined);
  try {
    const webhooks = [...directory.tenants()].flatMap((tenant) => [...tenant.webhooks.values()]);
    return Object.fromEntries(webhooks.map(({ id, sealedSecret }) => [id, box.open(sealedSecret)]));
  } finally {
    await directory.stop();
    await eventStore.close();
  }
}

const outcome = (resealed: number) => ({ resealed, signing_keys: 0 });

it.each([['without a service'], ['beside a service']])('%s: all secrets stay, under the new key', async (how) => {
  const { secrets } = await makeWebhooks(withKeys(OLD));
  await workplace.json(['keys', 'rotate'], withKeys(OLD));
  if (how === 'beside a service') await workplace.start(withKeys(NEW, OLD));
  const { code, stdout } = await workplace.run(RESEAL, withKeys(NEW, OLD));
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'sealed again             3',
    'token keys sealed again  1',
    expect.stringContaining('"dynamic-assets doctor" names them'),
    '',
  ]);
  expect(await secretsIn(createSecretBox(keyOf(NEW)))).toEqual(secrets);
  await expect(secretsIn(createSecretBox(keyOf(OLD)))).rejects.toThrow('it was sealed under another key');
  expect(await workplace.json(RESEAL, withKeys(NEW))).toEqual(outcome(0));
  // The old key is that of the log no longer.
  const refused = await workplace.run(['keys', 'rotate'], withKeys(OLD));
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^No key of this process opens the key/) });
  const lost = await workplace.json(['keys', 'rotate', '--lost-secrets-key'], withKeys(LOST));
  expect(lost).toMatchObject({ revoked: [expect.any(String)] });
});

it('a secret that no key opens is named by the doctor; all others are sealed again, and none is shown', async () => {
  const { still, rotating, other, secrets } = await makeWebhooks(withKeys(OLD));
  const lost = await makeWebhook('acme', withKeys(LOST));
  const regenerated = await makeWebhook('other', withKeys(OLD));
  await rotate('other', regenerated.id, withKeys(LOST));

  expect(await workplace.json(RESEAL, withKeys(NEW, OLD))).toEqual(outcome(3));
  const { code, stdout } = await workplace.run(['doctor'], withKeys(NEW, OLD));
  expect(code).toBe(1);
  const named = [...stdout.matchAll(/No key opens the signing secret of webhook (.*)\.$/gm)].map(([, which]) => which);
  expect(named).toEqual([`${lost.id} of tenant acme`, `${regenerated.id} of tenant other`]);
  expect(stdout).not.toMatch(/whsec_|v1\./);
  const known = await secretsIn({ open: (sealed) => openOr(createSecretBox(keyOf(NEW)), sealed, 'lost') });
  for (const { id } of [still, rotating, other]) expect(known[id]).toEqual(secrets[id]);
  expect([known[lost.id], known[regenerated.id]]).toEqual(['lost', 'lost']);
  expect(await workplace.json(RESEAL, withKeys(NEW, OLD, LOST))).toEqual(outcome(2));
});

function openOr(box: SecretBox, sealed: string, otherwise: string): string {
  try {
    return box.open(sealed);
  } catch {
    return otherwise;
  }
}
