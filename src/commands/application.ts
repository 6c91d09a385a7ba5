/** What commands use: the ports, and what one process keeps in memory for them. All of it may be lost at any time. */
import { UNDOS_AT_ONCE } from '../domain/limits.js';
import { FairQueue } from '../supervision/fairQueue.js';
import type { Commands } from './context.js';
import { OrderReader } from './orders/loadOrder.js';
import { TableWriter } from './referenceTables/tableWriter.js';

export type Application<Ports extends Commands = Commands> = Ports & {
  readonly tables: TableWriter;
  readonly orders: OrderReader;
  /** See `LogAccess`. */
  readonly streamChanges: FairQueue;
  /** Pieces of undos. */
  readonly undos: FairQueue;
};

/** Made once for each log that is opened. */
export const openApplication = <Ports extends Commands>(ports: Ports): Application<Ports> => ({
  ...ports,
  tables: new TableWriter(ports),
  orders: new OrderReader(ports.eventStore),
  // Requests of a tenant are limited already, so the queues need no limit.
  streamChanges: new FairQueue({
    atOnce: Number.POSITIVE_INFINITY,
    ofGroup: 1,
    waitingOfGroup: Number.POSITIVE_INFINITY,
  }),
  undos: new FairQueue({ atOnce: UNDOS_AT_ONCE, ofGroup: 1, waitingOfGroup: Number.POSITIVE_INFINITY }),
});
