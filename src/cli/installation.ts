/** Webhooks, keys and settings of the whole installation. What a tenant's admin does with webhooks is on the platform. */
import { HttpError } from '../api/errors.js';
import { parseJson } from '../api/jsonText.js';
import { ValidationError } from '../commands/context.js';
import { resealSigningKeys, rotateSigningKey, signingKeysNow } from '../commands/identity/signingKeys.js';
import { type ResealReport, resealWebhookSecrets } from '../commands/webhooks/secrets.js';
import { createWebhook } from '../commands/webhooks/settings.js';
import { type Config, readConfig, settingRows, settingsInUse } from '../config.js';
import { signerOf } from '../domain/identity/signingKeys.js';
import { KEY_OVERLAP_HOURS, OPERATOR_LINK_MINUTES } from '../domain/limits.js';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/catalogue.js';
import { userOf } from '../service/directoryUse.js';
import { createSecretBox, installationKeys } from '../service/secretBox.js';
import { tokensOfCommand } from '../service/tokens.js';
import { heldWebhooks, holdWebhooks, resumeWebhooks } from '../service/webhooks.js';
import { addressPolicy, createTargetCheck } from '../webhooks/targetAddress.js';
import { command, flag, list, required, text } from './command.js';
import { CliError, UsageError } from './errors.js';
import { operator, type Tools, withLog, withTenant } from './operator.js';
import { columns } from './terminal.js';

const webhookCreate = command({
  name: 'webhook create',
  about: 'Send events of a tenant to an HTTPS endpoint. The signing secret is shown only now.',
  example: 'dynamic-assets webhook create --tenant acme --url https://erp.acme.example/orders --events order.approved',
  options: {
    tenant: required('<name>', 'tenant whose events are sent'),
    url: required('<url>', 'endpoint, https only'),
    name: text('<text>', 'what it is for (default: the host of the URL)'),
    events: list('<list>', `comma-separated: ${WEBHOOK_EVENT_KINDS.join(', ')} (default: order.approved)`),
    customData: text('<json>', 'JSON object to send along as custom_data'),
  },
  async run({ tenant, url, name, events, customData }) {
    const body = { url, name, events, custom_data: customData === undefined ? undefined : jsonValue(customData) };
    const { id, secret } = await withTenant(tenant, ({ commands, config }) => {
      const policy = addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS);
      return createWebhook(commands, operator(tenant), body, createTargetCheck(policy));
    });
    return { id, secret };
  },
  lines: ({ id, secret }) =>
    columns([
      ['webhook id', id],
      ['signing secret', secret],
    ]),
});

/** Parses as for a request: nothing is rounded or dropped. @throws UsageError */
function jsonValue(given: string): unknown {
  try {
    return parseJson(given);
  } catch (error) {
    if (!(error instanceof HttpError || error instanceof ValidationError)) throw error;
    const reason = error instanceof HttpError ? error.reason : error.message;
    throw new UsageError(`--custom-data must be a JSON object, such as '{"warehouse":"north"}'. ${reason}`);
  }
}

const hold = command({
  name: 'webhook hold',
  about:
    'Send nothing to any webhook of this installation until "webhook resume", as in a restored copy: deliveries wait, those that people ask for as well.',
  example: 'dynamic-assets webhook hold',
  run() {
    const config = readConfig(process.env);
    if (heldWebhooks(config) === undefined) holdWebhooks(config, 'by "dynamic-assets webhook hold"');
    return { held: true };
  },
  lines: () => ['Webhooks are held. A running service stops sending within a second.'],
});

const resume = command({
  name: 'webhook resume',
  about: 'Send webhooks again, those that waited first, after "webhook hold" or "restore".',
  example: 'dynamic-assets webhook resume',
  run() {
    resumeWebhooks(readConfig(process.env));
    return { held: false };
  },
  lines: () => ['Webhooks are sent. A running service begins within a second.'],
});

const reseal = command({
  name: 'webhook reseal',
  about:
    'Seal the signing secrets of all tenants, and the keys that sign tokens, again under the first key of SECRETS_KEY. All of them stay the same.',
  example: 'SECRETS_KEY=<new key>,<old key> dynamic-assets webhook reseal',
  run: () =>
    withLog(async ({ commands, tenants }) => {
      const reports: ResealReport[] = [];
      for (const { name } of (await tenants()).all) reports.push(await resealWebhookSecrets(commands, operator(name)));
      // Last: from then on no process starts without the new key.
      const signingKeys = await resealSigningKeys(commands, operator('').actor);
      const unopenable = reports.flatMap((report) => report.unopenable);
      return {
        resealed: reports.reduce((sum, report) => sum + report.resealed, 0),
        current: reports.reduce((sum, report) => sum + report.current, 0),
        unopenable: unopenable.map((each) => ({
          tenant: each.tenant,
          webhook_id: each.webhookId,
          secret: each.which,
        })),
        signing_keys: signingKeys,
      };
    }),
  lines: ({ resealed, current, unopenable, signing_keys: signingKeys }) =>
    columns([
      ['sealed again', String(resealed)],
      ['under the first key already', String(current)],
      ['opened by no key', String(unopenable.length)],
      ['token keys sealed again', String(signingKeys)],
    ]),
  failure({ unopenable }) {
    if (unopenable.length === 0) return undefined;
    const rows = unopenable.map((each) => [each.tenant, each.webhook_id, each.secret]);
    return [
      'No key opens these; add the key they were sealed under to SECRETS_KEY, or give the webhooks new secrets:',
      ...columns([['TENANT', 'WEBHOOK', 'SECRET'], ...rows]),
    ].join('\n');
  },
});

const rotateKey = command({
  name: 'keys rotate',
  about: `Sign tokens with a new key from now on, in all processes, without a restart. Earlier keys verify for ${KEY_OVERLAP_HOURS} hours more, until their tokens have expired.`,
  example: 'dynamic-assets keys rotate',
  options: {
    revoke: flag('end the tokens of earlier keys now, for a key that became known'),
    lostSecretsKey: flag('the SECRETS_KEY of the event log is lost, and the one set here takes its place'),
  },
  async run({ revoke, lostSecretsKey }) {
    const { kid, revoked } = await withLog(async ({ config, commands }) => {
      const secretBox = lostSecretsKey ? createSecretBox(...(await installationKeys(config))) : commands.secretBox;
      const rotation = revoke ? 'revoke' : 'overlap';
      return rotateSigningKey({ ...commands, secretBox }, operator('').actor, rotation);
    });
    return { kid, revoked };
  },
  lines: ({ kid, revoked }, { lostSecretsKey }) => [
    ...columns([
      ['signs from now on', kid],
      ['keys revoked', String(revoked.length)],
    ]),
    ...(lostSecretsKey ? ['Give each webhook that "dynamic-assets webhook reseal" lists a new secret.'] : []),
  ],
});

const ENTRANCE = `It opens one session, within ${OPERATOR_LINK_MINUTES} minutes. A person who has it is an operator.`;

const openConsole = command({
  name: 'console',
  about: `Print a link to the operator's console: the whole installation, its tenants, queues and log. ${ENTRANCE}`,
  example: 'dynamic-assets console',
  options: { origin: text('<url>', 'how a browser reaches OPERATOR_HOST, such as https://operator.example.com') },
  run: ({ origin }) =>
    withLog(async (tools) => {
      const base = origin === undefined ? await ownOrigin(tools.config) : givenOrigin(origin, tools.config);
      const { token, expiresIn } = await operatorLink(tools);
      // In the fragment: browsers do not send it, so no log of a proxy has it.
      return { link: `${base}/console/enter#${token}`, expires_in: expiresIn };
    }),
  lines: ({ link }) => [link, '', ENTRANCE],
});

/** A token that opens one session of an operator. @throws CliError before the first start */
export async function operatorLink({ config, commands }: Tools) {
  const stored = await signingKeysNow(commands);
  if (signerOf(stored) === undefined)
    throw new CliError('There is no key yet that signs the link: start the service once.');
  return tokensOfCommand(config, stored, commands.secretBox).issueOperatorLink(operator('').actor.id);
}

/** The port of the service that uses the data directory; that of the settings if none does. */
async function ownOrigin({ DATA_DIR, OPERATOR_HOST, PORT, TRUST_PROXY }: Config): Promise<string> {
  // A proxy in front speaks TLS at the standard port.
  if (TRUST_PROXY > 0) return `https://${OPERATOR_HOST}`;
  const address = userOf(DATA_DIR)?.address;
  const port = address === undefined ? PORT : Number(new URL(address).port);
  if (port === 0) throw new UsageError('The port is not known: start the service, or name it with --origin.');
  return `http://${OPERATOR_HOST}:${port}`;
}

/** @throws UsageError */
function givenOrigin(given: string, { OPERATOR_HOST }: Config): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.hostname !== OPERATOR_HOST)
    throw new UsageError(`--origin must be a URL with the host ${OPERATOR_HOST}, as OPERATOR_HOST says.`);
  return url.origin;
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
  failure() {
    readConfig(process.env);
    return undefined;
  },
});

/** For `start --help`: name and default, then the meaning. */
export function settingsHelp(): string {
  const lines = settingRows.flatMap(({ name, defaultText, meaning }) => [
    `  ${name}${defaultText === '' ? '' : ` (default ${defaultText})`}`,
    `      ${meaning}`,
  ]);
  return ['Environment variables (also read from a file .env in the working directory):', ...lines].join('\n');
}

export const installationCommands = [webhookCreate, hold, resume, reseal, rotateKey, openConsole, showConfig];
