/** A damaged file of read models: nothing is lost with it, since it is filled again from the log. */
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { isDamage, markDamaged } from '../../damagedFiles.js';

export class ReadModelsDamagedError extends ReadModelsUnavailableError {
  override readonly name = 'ReadModelsDamagedError';
  constructor(file: string, options?: ErrorOptions & { readonly cause?: unknown }) {
    const said = options?.cause instanceof Error ? ` (${options.cause.message})` : '';
    super(
      `The read models in ${file} are damaged${said}. They are made of the event log: a service that runs sets the file aside and fills another one, and so does "dynamic-assets projections rebuild".`,
      options,
    );
  }
}

/** What a use of the file threw. Damage is marked, so that whoever projects makes a new file. */
export function namingDamage(file: string, error: unknown): unknown {
  if (error instanceof ReadModelsDamagedError) return error;
  if (!isDamage(error)) return error;
  markDamaged(file);
  return new ReadModelsDamagedError(file, { cause: error });
}
