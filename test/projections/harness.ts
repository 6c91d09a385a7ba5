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
import { Directory } from '#app/directory/directory.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { EventStore } from '#app/ports/eventStore.js';
import type { Projection } from '#app/ports/projection.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { projections as ownProjections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { openEventStore, openReadModels, openReadModelWriter } from '#app/service/engines.js';

export type Inside = {
  readonly directoryPath: string;
  readonly commands: Application;
  readonly eventStore: EventStore;
  readonly readModels: ReadModels;
  /** A write side of its own, for rebuilds. */
  readonly writer: ReadModelWriter & RebuildableReadModels;
  caller(tenant: string): Caller;
  assetType(tenant: string, table: string): AssetType;
  /** Resolves when the read models show everything in the log. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
};

export type InsideOptions = {
  /** In place of the service's own. */
  readonly projections?: readonly Projection[];
  /** Settings beside the directory. */
  readonly env?: { readonly [name: string]: string };
};

/** @param beside opens a second one on the same directory, as another process would */
export async function openInside(
  beside?: Inside,
  { projections = ownProjections, env = {} }: InsideOptions = {},
): Promise<Inside> {
  const directoryPath = beside?.directoryPath ?? (await mkdtemp(join(tmpdir(), 'dynamic-assets-')));
  const config = readConfig({ DATA_DIR: directoryPath, ...env });
  const eventStore = await openEventStore(config);
  const liveWriter = await openReadModelWriter(config);
  const stopping = new AbortController();
  const running = runProjections({ eventStore, writer: liveWriter, projections }, stopping.signal);
  const readModels = await openReadModels(config);
  const writer = await openReadModelWriter(config);
  const directory = await Directory.start(eventStore, (error) => {
    throw error;
  });
  const secretBox = { seal: (text: string) => text, open: (text: string) => text, reseal: () => undefined };
  return {
    directoryPath,
    commands: openApplication({ eventStore, readModels, directory, secretBox, now, newId }),
    eventStore,
    readModels,
    writer,
    caller: (tenant) => ({
      tenant,
      actor: { kind: 'system', id: 'test' },
      correlationId: newId(),
      causationId: newId(),
    }),
    assetType: (tenant, table) => assetTypeOf(tenantOf({ directory }, tenant), table),
    async caughtUp() {
      const head = await eventStore.head();
      for (const { name } of projections) await readModels.waitFor(name, head, 10_000);
    },
    async close() {
      await directory.stop();
      stopping.abort();
      await running;
      await readModels.close();
      await writer.close();
      await liveWriter.close();
      await eventStore.close();
      if (beside === undefined) await rm(directoryPath, { recursive: true, force: true });
    },
  };
}

/** A tenant of the order model given. */
export async function openTenant(inside: Inside, name: string, orderModel = 'dyn_stock_order'): Promise<void> {
  await createTenant(inside.commands, inside.caller(name), { orderModel });
}
