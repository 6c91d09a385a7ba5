/** The command `erase`: personal data of the past that is no longer shown (GDPR article 17). */
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { eraseRecord, eraseUser } from '../commands/erasures.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { readConfig } from '../config.js';
import { ERASURES_LOOKED_AT_EVERY_MS, MAX_REASON_LENGTH } from '../domain/limits.js';
import { ERASURES_STREAM } from '../domain/streams.js';
import { Progress } from '../projections/progress.js';
import { usersOf } from '../service/directoryUse.js';
import { openRowReads } from '../service/engines.js';
import { UsageError } from './errors.js';
import { operator, withEventStore, withTenant } from './operator.js';
import { commaSeparated, type JsonOption, printResult, withJson } from './output.js';

type EraseOptions = JsonOption & {
  readonly tenant: string;
  readonly table?: string;
  readonly record?: string;
  readonly order?: string;
  readonly fields?: readonly string[];
  readonly user?: string;
  readonly reason: string;
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
    .requiredOption('--reason <text>', 'why; it is kept in the log and in the activity, so it names nobody');
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
  const areShown = await waitForRows(tenant);
  // By then each running process knows it.
  await delay(2 * ERASURES_LOOKED_AT_EVERY_MS);
  const names = erased === undefined ? [] : Object.keys(erased.fields);
  printResult(options, { tenant, ...(erased ?? { user }), erased: true }, [
    erased === undefined
      ? `The name, e-mail address and password of user ${user} are no longer shown.`
      : `No read shows what ${table} ${record} had in: ${names.join(', ')}.`,
    `${areShown ? 'The rows have lost it' : 'The rows lose it when a service has followed the log up to here'}; free space of their files may have it until "dynamic-assets projections rebuild --tenant ${tenant}".`,
    'The log and its backups keep the bytes: see "dynamic-assets migrate --erase" and the guide "Audit".',
  ]);
}

const SHOWN_WITHIN_MS = 30_000;

/** Whether the rows show the erasure. Does not wait where no service follows the log. */
async function waitForRows(tenant: string): Promise<boolean> {
  const config = readConfig(process.env);
  if (config.MONGODB_URL === undefined && (await usersOf(config.DATA_DIR)).length === 0) return false;
  const position = await withEventStore(config, async (log) => (await log.lastAppend(ERASURES_STREAM))?.position ?? 0);
  const rows = await openRowReads({ ...config, READER_THREADS: 1 });
  try {
    return await new Progress(rows, { isTold: false }).waitFor(tenant, position, SHOWN_WITHIN_MS);
  } finally {
    await rows.close();
  }
}
