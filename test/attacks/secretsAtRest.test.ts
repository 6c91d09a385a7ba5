/** The files of the data directory without SECRETS_KEY reveal no webhook secret (spec §6.3). */
import { promises, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { addWebhook } from '../acceptance/export.js';
import { useService } from '../acceptance/useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });

it('no secret is ever in a file of the data directory as it is', async () => {
  const acme = run.tenant('acme');
  const { id, secret } = await addWebhook(acme, 'https://127.0.0.1:9/orders');
  const post = (below: string) => acme.platformData('POST', `/webhooks/${id}${below}`);
  const secretFrom = async (below: string) => z.looseObject({ secret: z.string() }).parse(await post(below)).secret;
  const secrets = [secret, await secretFrom('/secret/rotate'), await secretFrom('/secret/rotate')];

  const entries = readdirSync(run.service().dataDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  // The service may replace a file meanwhile. The webhook itself is there, so its secrets would be seen.
  const read = files.map(({ parentPath, name }) => promises.readFile(join(parentPath, name)).catch(() => Buffer.of()));
  const bytes = Buffer.concat(await Promise.all(read));
  expect(bytes.includes(id)).toBe(true);
  for (const each of secrets) {
    const encoded = each.slice('whsec_'.length);
    for (const form of [encoded, Buffer.from(encoded, 'base64')]) expect(bytes.includes(form)).toBe(false);
  }
});
