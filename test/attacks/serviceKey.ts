/** The key with which a service signs tokens, as an attacker never has it: from its log, opened with its key for secrets. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { signingKeysNow } from '#app/commands/identity/signingKeys.js';
import { signerOf } from '#app/domain/identity/signingKeys.js';
import { createSecretBox } from '#app/service/keys.js';

/** @returns the private key in PEM */
export async function serviceKey(dataDir: string): Promise<string> {
  const secret = await readFile(join(dataDir, 'keys', 'secrets.key'), 'utf8');
  const eventStore = await openSqliteEventStore({ file: join(dataDir, 'events.db') });
  try {
    const sealed = signerOf(await signingKeysNow({ eventStore }))?.sealedKey ?? '';
    return createSecretBox(Buffer.from(secret, 'base64')).open(sealed);
  } finally {
    await eventStore.close();
  }
}
