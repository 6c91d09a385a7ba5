/** The command `erase`: personal data of the past that is no longer shown (GDPR article 17). */
import { setTimeout as delay } from 'node:timers/promises';
import { ERASURES_READ_MS } from '../adapters/eventstore/everyStore.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { MAX_REASON_LENGTH } from '../domain/limits.js';
import { ERASURES_STREAM } from '../domain/streams.js';
import { Progress } from '../projections/progress.js';
import { userOf } from '../service/directoryUse.js';
import { openRowReads } from '../service/engines.js';
import { command, list, required, text } from './command.js';
import { eraseRecord, eraseUser } from './erasures.js';
import { UsageError } from './errors.js';
import { operator, type Tools, withTenant } from './operator.js';

export const erase = command({
  name: 'erase',
  about:
    'Erase what the past says of a record, an order or a user: no read shows it any more. The log keeps the bytes until "dynamic-assets migrate --erase".',
  example:
    'dynamic-assets erase --tenant acme --table dyn_customer --record 0198a0aa-5c1e-7c3f-8f1e-2d3c4b5a6978 --reason "Request 4711"',
  options: {
    tenant: required('<name>', 'the tenant'),
    table: text('<name>', 'the table of the record'),
    record: text('<id>', 'id of the record, which may be deleted by now'),
    order: text('<id>', 'the order, if the record is a part of one'),
    fields: list('comma-separated (default: all but the unique field)'),
    user: text('<id>', 'instead of a record: id of a user who has been removed'),
    reason: required('<text>', 'why; it is kept in the log and in the activity, so it names nobody'),
  },
  async run({ tenant, table = '', record = '', order, fields, user, reason }) {
    if (reason.trim() === '' || reason.length > MAX_REASON_LENGTH)
      throw new UsageError(`--reason has 1 to ${MAX_REASON_LENGTH} characters.`);
    const isWhole = user === undefined ? table !== '' && record !== '' : table + record === '';
    if (!isWhole) throw new UsageError('Name --table and --record, or --user.');
    if (user !== undefined && !/^[1-9]\d{0,14}$/.test(user))
      throw new UsageError('--user is a number: see the activity.');
    return withTenant(tenant, async (tools) => {
      const { commands } = tools;
      const by = operator(tenant);
      const name = { table, id: record.toLowerCase(), orderId: order?.toLowerCase(), fields, reason };
      const erased =
        user === undefined ? await eraseRecord(commands, by, await tenantNow(commands, tenant), name) : { user };
      if (user !== undefined) await eraseUser(commands, by, { userId: Number(user), reason });
      const shown = await waitForRows(tools, tenant);
      // By then each running process knows it.
      await delay(2 * ERASURES_READ_MS);
      return { tenant, ...erased, erased: true, shown };
    });
  },
  lines: (result, { tenant, table, record, user }) => [
    'fields' in result
      ? `No read shows what ${table} ${record} had in: ${Object.keys(result.fields).join(', ')}.`
      : `The name, e-mail address and password of user ${user} are no longer shown.`,
    `${result.shown ? 'The rows have lost it' : 'The rows lose it when a service has followed the log'}; their files may have it until "dynamic-assets projections rebuild --tenant ${tenant}".`,
    'The log and its backups keep the bytes: see "dynamic-assets migrate --erase" and the guide "Audit".',
  ],
});

const SHOWN_WITHIN_MS = 30_000;

/** Whether the rows show the erasure. Does not wait where no service follows the log. */
async function waitForRows({ config, eventStore }: Tools, tenant: string): Promise<boolean> {
  if (config.MONGODB_URL === undefined && userOf(config.DATA_DIR) === undefined) return false;
  const position = (await eventStore.lastAppend(ERASURES_STREAM))?.position ?? 0;
  const rows = await openRowReads(config, 1);
  try {
    return await new Progress(rows, { isTold: false }).waitFor(tenant, position, SHOWN_WITHIN_MS);
  } finally {
    await rows.close();
  }
}
