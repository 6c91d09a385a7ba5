/** What commands use: the ports, and what one process keeps in memory for them. All of it may be lost at any time. */
import { FairQueue } from '../supervision/fairQueue.js';
import type { Commands } from './context.js';
import { RecordWriter } from './referenceTables/tableWriter.js';

export type Application<Ports extends Commands = Commands> = Ports & {
  readonly records: RecordWriter;
  readonly streamChanges: FairQueue;
};

export const openApplication = <Ports extends Commands>(ports: Ports): Application<Ports> => {
  // Requests of a tenant are limited already, so the queue needs no limit.
  const streamChanges = new FairQueue({
    atOnce: Number.POSITIVE_INFINITY,
    ofGroup: 1,
    waitingOfGroup: Number.POSITIVE_INFINITY,
  });
  const records = new RecordWriter({ ...ports, streamChanges });
  return { ...ports, records, streamChanges };
};
