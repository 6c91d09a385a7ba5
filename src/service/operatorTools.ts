/** What the command line works with, beside a running service or without one. Loads no more of the service than it needs. */
import { newId, now } from '../commands/clock.js';
import type { SecretBox } from '../commands/context.js';
import type { DirectoryCommands } from '../commands/identity/directoryWriter.js';
import type { Config } from '../config.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { Directory } from '../projections/directory.js';
import { type ProjectionStatus, projectionStatus } from '../projections/projections.js';
import { type RebuildProgress, type RebuildReport, rebuildProjection } from '../projections/rebuild.js';
import { addressPolicy, createTargetCheck, type TargetCheck } from '../webhooks/targetAddress.js';
import { openEventStore, openReadModelWriter, prepareDataDirectory } from './engines.js';
import { installationKeys } from './installationKeys.js';
import { createSecretBox } from './secretBox.js';

export type DirectoryTools = {
  readonly commands: DirectoryCommands;
  readonly directory: Directory;
  readonly secretBox: SecretBox;
  readonly checkTarget: TargetCheck;
  close(): Promise<void>;
};

/** For tenants, clients, users and webhooks. */
export async function openDirectoryTools(config: Config): Promise<DirectoryTools> {
  await prepareDataDirectory(config);
  const eventStore = await openEventStore(config);
  const directory = await Directory.start(eventStore, () => {
    // The command that needs the directory fails by itself when the log cannot be reached.
  });
  return {
    commands: { eventStore, directory, now, newId },
    directory,
    secretBox: createSecretBox(...(await installationKeys(config))),
    checkTarget: createTargetCheck(addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS)),
    async close() {
      await directory.stop();
      await eventStore.close();
    },
  };
}

export type ProjectionTools = {
  status(): Promise<readonly ProjectionStatus[]>;
  rebuild(scope: RebuildScope, onProgress?: (progress: RebuildProgress) => void): Promise<RebuildReport>;
  close(): Promise<void>;
};

/** For looking after the read models. */
export async function openProjectionTools(config: Config): Promise<ProjectionTools> {
  await prepareDataDirectory(config);
  const eventStore = await openEventStore(config);
  const writer = await openReadModelWriter(config);
  const deps = { eventStore, writer };
  return {
    status: () => projectionStatus(deps),
    rebuild: (scope, onProgress) => rebuildProjection(deps, scope, onProgress),
    async close() {
      await writer.close();
      await eventStore.close();
    },
  };
}
