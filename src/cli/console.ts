/** The command `console`: a link to the operator's console. */
import { Command } from 'commander';
import { signingKeysNow } from '../commands/identity/signingKeys.js';
import { type Config, readConfig } from '../config.js';
import { signerOf } from '../domain/identity/signingKeys.js';
import { OPERATOR_LINK_MINUTES } from '../domain/limits.js';
import { usersOf } from '../service/directoryUse.js';
import { tokensOfCommand } from '../service/tokens.js';
import { CliError, UsageError } from './errors.js';
import { operator, withCommands } from './operator.js';
import { type JsonOption, printResult, withJson } from './output.js';

type ConsoleOptions = JsonOption & { readonly origin?: string };

export function consoleCommand(): Command {
  const definition = new Command('console')
    .description(
      `Print a link to the operator's console: the whole installation, its tenants, queues and log. The link opens one session, within ${OPERATOR_LINK_MINUTES} minutes. A person who has it is an operator.`,
    )
    .option('--origin <url>', 'how a browser reaches OPERATOR_HOST, such as https://operator.example.com');
  return withJson(definition, 'dynamic-assets console').action(open);
}

async function open({ origin, ...output }: ConsoleOptions): Promise<void> {
  const config = readConfig(process.env);
  const base = origin === undefined ? await ownOrigin(config) : givenOrigin(origin, config);
  const { token, expiresIn } = await withCommands(async ({ commands }) => {
    const stored = await signingKeysNow(commands);
    if (signerOf(stored) === undefined)
      throw new CliError('There is no key yet that signs the link: start the service once.');
    return tokensOfCommand(config, stored, commands.secretBox).issueOperatorLink(operator('').actor.id);
  }, config);
  // In the fragment: browsers do not send it, so no log of a proxy has it.
  const link = `${base}/console/enter#${token}`;
  printResult(output, { link, expires_in: expiresIn }, [
    link,
    '',
    `It opens one session, within ${OPERATOR_LINK_MINUTES} minutes. A person who has it is an operator.`,
  ]);
}

/** The port of the service that uses the data directory; that of the settings if none does. */
async function ownOrigin({ DATA_DIR, OPERATOR_HOST, PORT, TRUST_PROXY }: Config): Promise<string> {
  // A proxy in front speaks TLS at the standard port.
  if (TRUST_PROXY > 0) return `https://${OPERATOR_HOST}`;
  const address = (await usersOf(DATA_DIR)).find((user) => user.address !== undefined)?.address;
  const port = address === undefined ? PORT : Number(new URL(address).port);
  if (port === 0) throw new UsageError('The port is not known: start the service, or name it with --origin.');
  return `http://${OPERATOR_HOST}:${port}`;
}

/** @throws UsageError */
function givenOrigin(text: string, { OPERATOR_HOST }: Config): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.hostname !== OPERATOR_HOST)
    throw new UsageError(`--origin must be a URL with the host ${OPERATOR_HOST}, as OPERATOR_HOST says.`);
  return url.origin;
}
