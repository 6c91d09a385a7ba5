/** Why a table as it was is not made. */
import { PastTableRefusedError, PastTablesBusyError } from '../ports/pastTables.js';
import { ReadModelsWithheldError } from '../ports/readModels.js';

/** Nobody has asked for it again. */
export class AbandonedError extends ReadModelsWithheldError {
  constructor() {
    super('Nobody asked for the table as it was any more; ask again.');
  }
}

export const busy = (most: number): PastTablesBusyError =>
  new PastTablesBusyError(`${most} tables as they were are in use or wait already; ask again later.`);

export const noDisk = (): PastTableRefusedError =>
  new PastTableRefusedError(
    `The disk of the service is nearly full: tables as they were are made again when there is room (DISK_RESERVE).`,
  );
