/** What the server can do: asked, never assumed from its version. */
import { type Db, type Document, MongoServerError, ObjectId } from 'mongodb';

export type ServerFeatures = {
  /** Several documents change in one step (a replica set or a sharded cluster). */
  readonly transactions: boolean;
  /** Queries are answered from indexes over arrays, so n-grams pay. */
  readonly arrayIndexes: boolean;
};

export async function serverFeatures(db: Db): Promise<ServerFeatures> {
  const hello = await db.command({ hello: 1 });
  const build = await db.command({ buildInfo: 1 });
  return {
    transactions: mayHaveTransactions(hello) && (await undoesWhatIsAborted(db)),
    // FerretDB 1 answers as MongoDB does, but reads all documents of a collection for each query.
    arrayIndexes: !('ferretdbVersion' in build),
  };
}

/** A replica set names itself; a sharded cluster's router says `isdbgrid`. */
const mayHaveTransactions = (hello: Document): boolean =>
  hello.logicalSessionTimeoutMinutes !== undefined && (hello.setName !== undefined || hello.msg === 'isdbgrid');

/** The proof: what an aborted transaction wrote is not there. */
async function undoesWhatIsAborted(db: Db): Promise<boolean> {
  const probes = db.collection('probes');
  const _id = new ObjectId();
  const session = db.client.startSession();
  try {
    session.startTransaction();
    await probes.insertOne({ _id }, { session });
    await session.abortTransaction();
    return (await probes.deleteOne({ _id })).deletedCount === 0;
  } catch (error) {
    if (error instanceof MongoServerError) return false;
    throw error;
  } finally {
    await session.endSession();
  }
}
