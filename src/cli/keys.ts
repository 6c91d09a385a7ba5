/** The commands `keys`: the keys that sign access tokens. */
import { Command } from 'commander';
import { newId, now } from '../commands/clock.js';
import { type Rotation, rotateSigningKey, signingKeysNow } from '../commands/identity/signingKeys.js';
import { readConfig } from '../config.js';
import { type StoredSigningKey, verifyingKeys } from '../domain/identity/signingKeys.js';
import { KEY_OVERLAP_HOURS } from '../domain/limits.js';
import { createSecretBox, installationKeys } from '../service/secretBox.js';
import { operator, withCommands } from './operator.js';
import { columns, type JsonOption, printResult, withJson } from './output.js';

type RotateOptions = JsonOption & { readonly revoke?: true; readonly lostSecretsKey?: true };

export function keysCommand(): Command {
  return new Command('keys')
    .description('List and rotate the keys that sign access tokens.')
    .addCommand(listCommand())
    .addCommand(rotateCommand());
}

const OVERLAP_MS = KEY_OVERLAP_HOURS * 3_600_000;

function listCommand(): Command {
  const definition = new Command('list').description('List the keys that sign or verify tokens.');
  return withJson(definition, 'dynamic-assets keys list').action(list);
}

async function list(output: JsonOption): Promise<void> {
  const stored = await withCommands(({ commands }) => signingKeysNow(commands));
  const keys = verifyingKeys(stored, Date.now(), OVERLAP_MS).map(asJson);
  const rows = keys.map(({ kid, added_at, verifies_until }) => [kid, added_at, verifies_until ?? 'signs']);
  printResult(
    output,
    keys,
    rows.length === 0
      ? ['There is no key yet: the first start makes it.']
      : columns([['KEY', 'SINCE', 'VERIFIES UNTIL'], ...rows]),
  );
}

const asJson = ({ kid, addedAt, retiredAt }: StoredSigningKey) => ({
  kid,
  added_at: addedAt,
  signs: retiredAt === undefined,
  verifies_until: retiredAt === undefined ? null : new Date(Date.parse(retiredAt) + OVERLAP_MS).toISOString(),
});

function rotateCommand(): Command {
  const definition = new Command('rotate')
    .description(
      `Sign tokens with a new key from now on, in all processes, without a restart. Earlier keys verify for ${KEY_OVERLAP_HOURS} hours more, until their tokens have expired.`,
    )
    .option('--revoke', 'end the tokens of earlier keys now, for a key that became known')
    .option('--lost-secrets-key', 'the SECRETS_KEY of the event log is lost, and the one set here takes its place');
  return withJson(definition, 'dynamic-assets keys rotate').action(rotate);
}

async function rotate({ revoke, lostSecretsKey, ...output }: RotateOptions): Promise<void> {
  const config = readConfig(process.env);
  const rotation: Rotation = revoke ? 'revoke' : 'overlap';
  const { kid, revoked } = await withCommands(async ({ commands: { eventStore, secretBox } }) => {
    const box = lostSecretsKey ? createSecretBox(...(await installationKeys(config))) : secretBox;
    return rotateSigningKey({ eventStore, now, newId, secretBox: box }, operator('').actor, rotation);
  }, config);
  printResult(output, { kid, revoked }, [
    ...columns([
      ['signs from now on', kid],
      ['keys revoked', String(revoked.length)],
    ]),
    ...(lostSecretsKey ? ['Give each webhook that "dynamic-assets webhook reseal" lists a new secret.'] : []),
  ]);
}
