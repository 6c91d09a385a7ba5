import { Command } from 'commander';
import { type ResealReport, resealWebhookSecrets } from '../../commands/webhooks/secrets.js';
import { CliError } from '../errors.js';
import { operator, tenantsByName, withDirectory } from '../operator.js';
import { columns, type JsonOption, printResult, withJson } from '../output.js';

export function resealCommand(): Command {
  const definition = new Command('reseal').description(
    'Seal the signing secrets of all tenants anew, under the first key of SECRETS_KEY. The secrets stay as they are.',
  );
  return withJson(definition, 'SECRETS_KEY=<new key>,<old key> dynamic-assets webhook reseal').action(reseal);
}

/** @throws CliError with the secrets that no key opens; all others are sealed anew by then */
async function reseal(options: JsonOption): Promise<void> {
  const reports = await withDirectory(async ({ commands, directory, secretBox }) => {
    const done: ResealReport[] = [];
    for (const { name } of tenantsByName(directory)) {
      done.push(await resealWebhookSecrets({ ...commands, secretBox }, operator(name)));
    }
    return done;
  });
  const resealed = reports.reduce((sum, report) => sum + report.resealed, 0);
  const current = reports.reduce((sum, report) => sum + report.current, 0);
  const unopenable = reports.flatMap((report) => report.unopenable);
  const asJson = unopenable.map(({ tenant, webhookId, which }) => ({ tenant, webhook_id: webhookId, secret: which }));
  printResult(
    options,
    { resealed, current, unopenable: asJson },
    columns([
      ['sealed anew', String(resealed)],
      ['under the first key already', String(current)],
      ['opened by no key', String(unopenable.length)],
    ]),
  );
  if (unopenable.length === 0) return;
  const rows = unopenable.map(({ tenant, webhookId, which }) => [tenant, webhookId, which]);
  throw new CliError(
    [
      'No key opens these; add the key they were sealed under to SECRETS_KEY, or give the webhooks new secrets:',
      ...columns([['TENANT', 'WEBHOOK', 'SECRET'], ...rows]),
    ].join('\n'),
  );
}
