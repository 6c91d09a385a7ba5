/** The command `audit export`: an order for a dispute, with its events, their proofs, and what checks them. */
import { open, rm } from 'node:fs/promises';
import { Command } from 'commander';
import { type ExportSource, orderExport } from '../api/export/orderExport.js';
import { openCheckpointKeys } from '../audit/checkpointKeys.js';
import { ContradictionError, lastCheckpoint, noteKeys, signerOf } from '../audit/checkpoints.js';
import { proveStream } from '../audit/proof.js';
import { newId, now } from '../commands/clock.js';
import { NotFoundError } from '../commands/context.js';
import { noteAccess } from '../commands/identity/access.js';
import type { Config } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import { keyDirectory, openTree, treeDirectory } from '../service/treeFiles.js';
import { signNow, withLog } from './auditLog.js';
import { replaySourceOf, tenantOfReplay } from './auditOrder.js';
import { CliError } from './errors.js';
import { operator, withReadModels } from './operator.js';
import { type JsonOption, printResult, withJson } from './output.js';

type ExportOptions = JsonOption & { readonly tenant: string; readonly order: string; readonly out: string };

export const exportCommand = (): Command =>
  withJson(
    new Command('export')
      .description(
        'Export an order for a dispute: a ZIP archive with its replay, its events and their proofs, the checkpoint, programs that check them, and a page that says how. Signs a checkpoint first, so that it covers all events. The export is an entry of the activity. Works with or without a running service.',
      )
      .requiredOption('--order <id>', 'the id of the order')
      .requiredOption('--tenant <name>', 'its tenant')
      .requiredOption('--out <file>', 'the archive, which must not exist yet'),
    'dynamic-assets audit export --order 0193b0aa-5c1e-7c3f-8f1e-2d3c4b5a6978 --tenant acme --out order.zip',
  ).action(exportOrder);

async function exportOrder({ tenant, order, out, ...output }: ExportOptions): Promise<void> {
  const orderId = order.toLowerCase();
  const bytes = await withReadModels(tenant, async (tools) => {
    const known = await tenantOfReplay(tools, tenant);
    const replay = replaySourceOf(tools, tenant);
    if ((await replay.orders.load(tenant, orderId)) === undefined)
      throw new NotFoundError(`The tenant ${tenant} has no order ${order}.`);
    const note = { type: 'OrderExported', data: { orderId } } as const;
    const noteExport = () => noteAccess({ eventStore: tools.eventStore, now, newId }, operator(tenant), [note]);
    return withLog(async (log, config) => {
      const deliveryLogDays = config.DELIVERY_LOG_DAYS;
      const maxBytes = Number.POSITIVE_INFINITY;
      const exported = { tenant: known, orderId, exportedAt: now(), deliveryLogDays, maxBytes };
      return withProofs(log, config, (proofs) =>
        write(out, orderExport({ ...replay, ...proofs }, exported), noteExport),
      );
    });
  });
  printResult(output, { file: out, bytes }, [`${out} has ${bytes} bytes. HOW-TO-CHECK.md in it says how to check it.`]);
}

/** Runs `work` with a new checkpoint, or with the last one if the log contradicts it: then the export shows what was changed. */
async function withProofs<T>(
  log: EventStore,
  config: Config,
  work: (proofs: Pick<ExportSource, 'checkpoint' | 'prove'>) => Promise<T>,
): Promise<T> {
  const directory = treeDirectory(config);
  const keys = await openCheckpointKeys(keyDirectory(config));
  const { tree, index } = await openTree(log, directory);
  try {
    await signNow(log, tree, keys, { directory, published: config.CHECKPOINT_DIR }).catch((error: unknown) => {
      if (!(error instanceof ContradictionError)) throw error;
      process.stderr.write(`${error.message}\n`);
    });
    const known = noteKeys(tree.log, keys);
    const last = await lastCheckpoint(directory, known);
    const key = last && signerOf(last.note, known);
    const checkpoint = last === undefined || key === undefined ? undefined : { note: last.note, key };
    const prove: ExportSource['prove'] = (stream, from) =>
      proveStream({ log, index, files: tree.files, checkpoint: last }, stream, from);
    return await work({ checkpoint, prove });
  } finally {
    index.close();
  }
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
