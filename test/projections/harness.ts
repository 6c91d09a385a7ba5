/** The inside of the service without HTTP: commands, log, projections and read models on a fresh directory. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Application, openApplication } from '#app/commands/application.js';
import { newId, now } from '#app/commands/clock.js';
import type { Caller } from '#app/commands/context.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { assetTypeOf, tenantOf } from '#app/commands/tables.js';
import { readConfig } from '#app/config.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { Directory } from '#app/projections/directory/directory.js';
import { DeliveryQueries } from '#app/queries/deliveries.js';
import { RecordQueries } from '#app/queries/records.js';
import { openEventStore } from '#app/service/engines.js';
import { followLog, openRows } from '../support/followedRows.js';

export type Inside = {
  readonly directoryPath: string;
  readonly commands: Application;
  readonly eventStore: EventStore;
  readonly queries: Application['queries'];
  caller(tenant: string): Caller;
  assetType(tenant: string, table: string): AssetType;
  /** Resolves when the read models show everything in the log. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
};

export async function openInside(): Promise<Inside> {
  const directoryPath = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  const eventStore = await openEventStore(readConfig({ DATA_DIR: directoryPath }));
  const { rows, progress } = openRows(directoryPath);
  const stopping = new AbortController();
  const running = followLog(eventStore, directoryPath, progress, stopping.signal);
  const directory = await Directory.start(eventStore, (error) => {
    throw error;
  });
  const secretBox = { seal: (text: string) => text, open: (text: string) => text, reseal: () => undefined };
  const queries = { records: new RecordQueries(rows, directory), deliveries: new DeliveryQueries(rows) };
  return {
    directoryPath,
    commands: openApplication({ eventStore, queries, rows, progress, directory, secretBox, now, newId }),
    eventStore,
    queries,
    caller: (tenant) => ({
      tenant,
      actor: { kind: 'system', id: 'test' },
      correlationId: newId(),
      causationId: newId(),
    }),
    assetType: (tenant, table) => assetTypeOf(tenantOf({ directory }, tenant), table),
    async caughtUp() {
      const head = await eventStore.head();
      // Who waits for a tenant is told so when its rows begin to be made from the beginning.
      for (const { name } of directory.tenants())
        while (!(await progress.waitFor(name, head, 10_000)) && progress.filling().has(name))
          await new Promise(setImmediate);
    },
    async close() {
      await directory.stop();
      stopping.abort();
      await running;
      await rows.close();
      await eventStore.close();
      await rm(directoryPath, { recursive: true, force: true });
    },
  };
}

/** A tenant of the order model given. */
export async function openTenant(inside: Inside, name: string, orderModel = 'dyn_stock_order'): Promise<void> {
  await createTenant(inside.commands, inside.caller(name), { orderModel });
  // Its rows are made from the beginning if the log was not followed yet.
  const head = await inside.eventStore.head();
  while (!(await inside.commands.progress.waitFor(name, head, 1_000))) await new Promise(setImmediate);
}
