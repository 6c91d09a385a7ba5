/** The command `audit export`: an order for a dispute, with its events, their proofs, and what checks them. */
import { open, rm } from 'node:fs/promises';
import { type ExportSource, orderExport } from '../api/export/orderExport.js';
import { ContradictionError, lastCheckpoint, noteKeys } from '../audit/checkpoints.js';
import { proveStream } from '../audit/proof.js';
import { now } from '../commands/clock.js';
import { NotFoundError } from '../commands/context.js';
import { recordAccess } from '../commands/identity/access.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { OrderReader } from '../commands/orders/loadOrder.js';
import { webhooksStream } from '../domain/streams.js';
import { Directory } from '../projections/directory/directory.js';
import { openQueries, type Queries } from '../queries/queries.js';
import { openRowReads, openStoredDirectory } from '../service/engines.js';
import { type OpenTree, withTree } from './auditTree.js';
import { command, required } from './command.js';
import { CliError } from './errors.js';
import { operator, type Tools, withTenant } from './operator.js';
import { rowsNow } from './projections.js';

export const exportOrder = command({
  name: 'audit export',
  about:
    'Export an order for a dispute: a ZIP archive with its replay, its events and their proofs, the checkpoint, programs that check them, and a page that says how. Signs a checkpoint first, so that it covers all events. The export is an entry of the activity. Works with or without a running service.',
  example: 'dynamic-assets audit export --order 0193b0aa-5c1e-7c3f-8f1e-2d3c4b5a6978 --tenant acme --out order.zip',
  options: {
    order: required('<id>', 'the id of the order'),
    tenant: required('<name>', 'its tenant'),
    out: required('<file>', 'the archive, which must not exist yet'),
  },
  async run({ order, tenant, out }) {
    const orderId = order.toLowerCase();
    const bytes = await withTenant(tenant, (tools) =>
      withQueries(tools, tenant, async (queries) => {
        const { eventStore, commands, config } = tools;
        const orders = new OrderReader(eventStore);
        if ((await orders.load(tenant, orderId)) === undefined)
          throw new NotFoundError(`The tenant ${tenant} has no order ${order}.`);
        const exported = {
          // The names of clients are in the events.
          tenant: await tenantNow(commands, tenant, webhooksStream(tenant)),
          orderId,
          exportedAt: now(),
          deliveryLogDays: config.DELIVERY_LOG_DAYS,
          maxBytes: Number.POSITIVE_INFINITY,
        };
        const source = {
          eventStore,
          orders,
          find: (...[table, key, values]: Parameters<ExportSource['find']>) =>
            queries.records.find({ tenant, table }, key, values),
          deliveries: queries.deliveries.page.bind(queries.deliveries),
        };
        const note = { type: 'OrderExported', data: { orderId } } as const;
        return withTree(async (opened) =>
          write(out, orderExport({ ...source, ...(await proofsOf(opened)) }, exported), () =>
            recordAccess(commands, operator(tenant), [note]),
          ),
        );
      }),
    );
    return { file: out, bytes };
  },
  lines: ({ file, bytes }) => [`${file} has ${bytes} bytes. HOW-TO-CHECK.md in it says how to check it.`],
});

/** The rows of the tenant show the log as far as a service has followed it; standard error says so where they lack something. */
async function withQueries<T>(tools: Tools, tenant: string, work: (queries: Queries) => Promise<T>): Promise<T> {
  const { config, eventStore } = tools;
  const rows = await openRowReads({ ...config, READER_THREADS: 1 });
  const onError = (): void => undefined;
  const directory = await Directory.start(eventStore, onError, { store: openStoredDirectory(config), onError });
  try {
    const since = (await rowsNow(tools)).tenants.find((each) => each.tenant === tenant)?.lacksSince;
    if (since !== undefined) process.stderr.write(`The rows of ${tenant} lack what was written since ${since}.\n`);
    return await work(openQueries({ rows, eventStore, tenants: directory }));
  } finally {
    await directory.stop();
    await rows.close();
  }
}

/** With a new checkpoint, or with the last one if the log contradicts it: then the export shows what was changed. */
async function proofsOf({
  log,
  tree,
  index,
  keys,
  directory,
  sign,
}: OpenTree): Promise<Pick<ExportSource, 'checkpoint' | 'prove'>> {
  await sign().catch((error: unknown) => {
    if (!(error instanceof ContradictionError)) throw error;
    process.stderr.write(`${error.message}\n`);
  });
  const known = noteKeys(tree.log, keys);
  const last = await lastCheckpoint(directory, known);
  return {
    checkpoint: last,
    prove: (stream, from) => proveStream({ log, index, files: tree.files, checkpoint: last }, stream, from),
  };
}

/**
 * Leaves nothing behind if it fails.
 * @param onWritten the file stays only if this succeeds
 * @returns the number of bytes
 */
async function write(
  file: string,
  pieces: AsyncIterable<Uint8Array>,
  onWritten: () => Promise<unknown>,
): Promise<number> {
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new CliError(`${file} exists already.`) : error;
  });
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      await handle.writeFile(piece);
      bytes += piece.length;
    }
    await handle.sync();
    await onWritten();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  return bytes;
}
