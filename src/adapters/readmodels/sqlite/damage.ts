/** Damaged files of read models. Nothing is lost: they are filled again from the log. */
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

/** Marks the file if the error is damage, so that the projector replaces it. @returns the error to throw */
export function namingDamage(file: string, error: unknown): unknown {
  if (error instanceof ReadModelsDamagedError) return error;
  if (!isDamage(error)) return error;
  markDamaged(file);
  return new ReadModelsDamagedError(file, { cause: error });
}
