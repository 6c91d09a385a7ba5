/** The command `erase`: personal data of the past that is no longer shown (GDPR article 17). */
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { eraseRecord, eraseUser } from '../commands/erasures.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { ERASURES_LOOKED_AT_EVERY_MS, MAX_REASON_LENGTH } from '../domain/limits.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { rebuildProjection } from '../rebuild/rebuild.js';
import { CliError, interruptible, UsageError } from './errors.js';
import { operator, withProjections, withTenant } from './operator.js';
import { commaSeparated, type JsonOption, printResult, withJson, withProgressBar } from './output.js';

type EraseOptions = JsonOption & {
  readonly tenant: string;
  readonly table?: string;
  readonly record?: string;
  readonly order?: string;
  readonly fields?: readonly string[];
  readonly user?: string;
  readonly reason: string;
  readonly rebuild: boolean;
};

export function eraseCommand(): Command {
  const definition = new Command('erase')
    .description(
      'Erase what the past says of a record, an order or a user: no read shows it any more, also after a rebuild. What is written later is shown. The log keeps the bytes until "dynamic-assets migrate --erase". Works with or without a running service.',
    )
    .requiredOption('--tenant <name>', 'the tenant')
    .option('--table <name>', 'the table of the record')
    .option('--record <id>', 'id of the record, which may be deleted by now')
    .option('--order <id>', 'the order, if the record is a part of one')
    .option('--fields <list>', 'comma-separated (default: all but the unique field)', commaSeparated)
    .option('--user <id>', 'instead of a record: id of a user who has been removed')
    .requiredOption('--reason <text>', 'why; it is kept in the log and in the activity, so it names nobody')
    .option('--no-rebuild', 'leave the bytes in the read models, which no read shows, until "projections rebuild"');
  const example =
    'dynamic-assets erase --tenant acme --table dyn_customer --record 0198a0aa-5c1e-7c3f-8f1e-2d3c4b5a6978 --reason "Request 4711"';
  return withJson(definition, example).action(erase);
}

async function erase(options: EraseOptions): Promise<void> {
  const { tenant, table, record, user, reason, fields, order } = options;
  if (reason.trim() === '' || reason.length > MAX_REASON_LENGTH)
    throw new UsageError(`--reason has 1 to ${MAX_REASON_LENGTH} characters.`);
  const isWhole = user === undefined ? table !== undefined && record !== undefined : (table ?? record) === undefined;
  if (!isWhole) throw new UsageError('Name --table and --record, or --user.');
  const erased = await withTenant(tenant, async ({ commands }) => {
    if (user !== undefined) {
      if (!/^[1-9]\d{0,14}$/.test(user)) throw new UsageError('--user is a number: see the activity.');
      await eraseUser(commands, operator(tenant), { userId: Number(user), reason });
      return undefined;
    }
    const name = {
      table: table ?? '',
      id: (record ?? '').toLowerCase(),
      orderId: order?.toLowerCase(),
      fields,
      reason,
    };
    return eraseRecord(commands, operator(tenant), await tenantNow(commands, tenant), name);
  });
  // By then each running process knows it.
  await delay(2 * ERASURES_LOOKED_AT_EVERY_MS);
  const scopes = scopesOf(tenant, erased);
  if (options.rebuild)
    await rebuild(scopes).catch((error: unknown) => {
      if (error instanceof CliError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new CliError(`${leftIn(scopes)} They could not be filled again: ${reason}`, { cause: error });
    });
  const left = options.rebuild
    ? 'The read models are filled again without it.'
    : `Still in their files: ${scopes.map(commandFor).join(', ')}.`;
  const names = erased === undefined ? [] : Object.keys(erased.fields);
  printResult(options, { tenant, ...(erased ?? { user }), erased: true }, [
    erased === undefined
      ? `The name, e-mail address and password of user ${user} are no longer shown.`
      : `No read shows what ${table} ${record} had in: ${names.join(', ')}.`,
    left,
    'The log and its backups keep the bytes: see "dynamic-assets migrate --erase" and the guide "Audit".',
  ]);
}

/** The read models that keep the past; of the present an event has removed it. */
function scopesOf(
  tenant: string,
  erased: { readonly table: string; readonly stream: string } | undefined,
): readonly RebuildScope[] {
  if (erased === undefined)
    return [
      { projection: 'order_history', tenant },
      { projection: 'activity', tenant },
    ];
  return erased.stream.startsWith('order-')
    ? [{ projection: 'order_history', tenant }]
    : [{ projection: 'records', tenant, table: erased.table }];
}

const commandFor = ({ projection, tenant, table }: RebuildScope): string =>
  `dynamic-assets projections rebuild --tenant ${tenant} ${table === undefined ? `--projection ${projection}` : `--table ${table}`}`;

const rebuild = (scopes: readonly RebuildScope[]): Promise<void> =>
  interruptible(
    (signal) =>
      withProjections(async ({ lanesOf }) => {
        for (const scope of scopes)
          for (const lane of lanesOf(scope.tenant))
            await withProgressBar('{bar} {percentage}%', (onProgress) =>
              rebuildProjection(lane, scope, ({ position, head }) => onProgress(position, head), signal),
            );
      }),
    () => leftIn(scopes),
  );

const leftIn = (scopes: readonly RebuildScope[]): string =>
  `It is erased, and no read shows it. Files of the read models still have it until: ${scopes.map(commandFor).join(', ')}.`;
