/** Webhooks, keys and settings of the whole installation. What a tenant's admin does with webhooks is on the platform. */
import { TokenService } from '../api/auth/tokens.js';
import { resealSigningKeys, rotateSigningKey, signingKeysNow } from '../commands/identity/signingKeys.js';
import { createWebhook, resealWebhookSecrets } from '../commands/webhooks/settings.js';
import { type Config, readConfig, settingsInUse } from '../config.js';
import { KEY_OVERLAP_HOURS, signerOf } from '../domain/identity/signingKeys.js';
import { OPERATOR_LINK_MINUTES } from '../domain/limits.js';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/catalogue.js';
import { userOf } from '../service/directoryUse.js';
import { createSecretBox, keptOrNewKeys } from '../service/keys.js';
import { heldWebhooks, holdWebhooks, resumeWebhooks } from '../service/webhooks.js';
import { addressPolicy, createTargetCheck } from '../webhooks/targetAddress.js';
import { columns, command, flag, list, required } from './command.js';
import { CliError, UsageError } from './errors.js';
import { operator, type Tools, withLog, withTenant } from './operator.js';

const webhookCreate = command({
  name: 'webhook create',
  about: 'Send events of a tenant to an HTTPS endpoint. The signing secret is shown only now.',
  example: 'dynamic-assets webhook create --tenant acme --url https://erp.acme.example/orders --events order.approved',
  options: {
    tenant: required('<name>', 'tenant whose events are sent'),
    url: required('<url>', 'endpoint, https only'),
    events: list(`comma-separated: ${WEBHOOK_EVENT_KINDS.join(', ')} (default: order.approved)`),
  },
  async run({ tenant, url, events }) {
    const { id, secret } = await withTenant(tenant, ({ commands, config }) => {
      const policy = addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS);
      return createWebhook(commands, operator(tenant), { url, events }, createTargetCheck(policy));
    });
    return { id, secret };
  },
  lines: ({ id, secret }) =>
    columns([
      ['webhook id', id],
      ['signing secret', secret],
    ]),
});

const hold = command({
  name: 'webhook hold',
  about:
    'Send nothing to any webhook of this installation from the next start on until "webhook resume", as in a restored copy.',
  example: 'dynamic-assets webhook hold',
  run() {
    const config = readConfig(process.env);
    if (heldWebhooks(config) === undefined) holdWebhooks(config);
    return { held: true };
  },
  lines: () => ['Webhooks are held from the next start of the service on: restart it.'],
});

const resume = command({
  name: 'webhook resume',
  about: 'Send webhooks again from the next start on, those that waited first, after "webhook hold" or "restore".',
  example: 'dynamic-assets webhook resume',
  run() {
    resumeWebhooks(readConfig(process.env));
    return { held: false };
  },
  lines: () => ['Webhooks are sent from the next start of the service on: restart it.'],
});

const reseal = command({
  name: 'webhook reseal',
  about:
    'Seal the signing secrets of all tenants, and the keys that sign tokens, again under the first key of SECRETS_KEY.',
  example: 'SECRETS_KEY=<new key>,<old key> dynamic-assets webhook reseal',
  run: () =>
    withLog(async ({ commands, tenants }) => {
      let resealed = 0;
      for (const { name } of (await tenants()).all) resealed += await resealWebhookSecrets(commands, operator(name));
      // Last: from then on no process starts without the new key.
      return { resealed, signing_keys: await resealSigningKeys(commands, operator('').actor) };
    }),
  lines: ({ resealed, signing_keys: signingKeys }) => [
    ...columns([
      ['sealed again', String(resealed)],
      ['token keys sealed again', String(signingKeys)],
    ]),
    'Secrets that no key opens are as they were: "dynamic-assets doctor" names them.',
  ],
});

const rotateKey = command({
  name: 'keys rotate',
  about: `Sign tokens with a new key from now on, in all processes, without a restart. Earlier keys verify for ${KEY_OVERLAP_HOURS} hours more.`,
  example: 'dynamic-assets keys rotate',
  options: {
    revoke: flag('end the tokens of earlier keys now, for a key that became known'),
    lostSecretsKey: flag('the SECRETS_KEY of the event log is lost, and the one set here takes its place'),
  },
  async run({ revoke, lostSecretsKey }) {
    const { kid, revoked } = await withLog(async ({ config, commands }) => {
      const secretBox = lostSecretsKey ? createSecretBox(...(await keptOrNewKeys(config))) : commands.secretBox;
      return rotateSigningKey({ ...commands, secretBox }, operator('').actor, revoke === true);
    });
    return { kid, revoked };
  },
  lines: ({ kid, revoked }, { lostSecretsKey }) => [
    ...columns([
      ['signs from now on', kid],
      ['keys revoked', String(revoked.length)],
    ]),
    ...(lostSecretsKey ? ['Give each webhook that "dynamic-assets doctor" names a new secret.'] : []),
  ],
});

const ENTRANCE = `It opens one session, within ${OPERATOR_LINK_MINUTES} minutes. A person who has it is an operator.`;

const openConsole = command({
  name: 'console',
  about: `Print a link to the operator's console. ${ENTRANCE}`,
  example: 'dynamic-assets console',
  run: () =>
    withLog(async (tools) => {
      const { token, expiresIn } = await operatorLink(tools);
      // In the fragment: browsers do not send it, so no log of a proxy has it.
      return { link: `${ownOrigin(tools.config)}/console/enter#${token}`, expires_in: expiresIn };
    }),
  lines: ({ link }) => [link, '', ENTRANCE],
});

/** A token that opens one session of an operator. @throws CliError before the first start */
export async function operatorLink({ config, commands }: Tools) {
  const stored = await signingKeysNow(commands);
  if (signerOf(stored) === undefined)
    throw new CliError('There is no key yet that signs the link: start the service once.');
  const { id } = operator('').actor;
  const tokens = new TokenService(config, { stored: () => stored, secretBox: commands.secretBox });
  return tokens.issue('operatorLink', `operator:${id}`, { operator: id });
}

/** The port of the service that uses the data directory; that of the settings if none does. */
function ownOrigin({ DATA_DIR, OPERATOR_HOST, PORT, TRUST_PROXY }: Config): string {
  // A proxy in front speaks TLS at the standard port.
  if (TRUST_PROXY > 0) return `https://${OPERATOR_HOST}`;
  const address = userOf(DATA_DIR)?.address;
  const port = address === undefined ? PORT : Number(new URL(address).port);
  if (port === 0) throw new UsageError('The port is not known: start the service.');
  return `http://${OPERATOR_HOST}:${port}`;
}

const showConfig = command({
  name: 'config',
  about: 'Show every setting with its value in use, default and meaning, and check them.',
  example: 'dynamic-assets config',
  run: () => settingsInUse(process.env),
  lines: (rows) =>
    rows.flatMap((row) => {
      const origin = row.source === 'default' ? 'default' : `default: ${row.default === '' ? 'unset' : row.default}`;
      return [`${row.name}=${row.value}  (${origin})`, `    ${row.meaning}`];
    }),
  after: () => void readConfig(process.env),
});

export const installationCommands = [webhookCreate, hold, resume, reseal, rotateKey, openConsole, showConfig];
