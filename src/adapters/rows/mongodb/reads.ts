/** What every process asks of rows on MongoDB. */
import { type Checkpoint, type RowReads, RowsUnavailableError } from '../../../ports/rowStore.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import { MongoConnection } from './connection.js';
import { progressOf } from './documents.js';
import { Indexes } from './indexes.js';
import { shareOf } from './shares.js';
import { Known, TenantRows, tenantIn } from './tenantRows.js';

/** The server need not be reachable: each question connects when needed. */
export function openMongoRowReads({ url }: { readonly url: string }): RowReads {
  const connection = new MongoConnection(url);
  const known = new Known(new Indexes());
  type Ask<Result> = (rows: TenantRows) => Promise<Result>;
  const shown = <Result>(tenant: string, cancellation: Cancellation | undefined, ask: Ask<Result>): Promise<Result> =>
    connection.run(async (database) => {
      const document = await tenantIn(database, tenant);
      if (document?.state === 'filling') throw new RowsUnavailableError('The rows of this tenant are being made.');
      if (document?.state === 'parked')
        throw new RowsUnavailableError('The rows of this tenant are not shown: an event could not be applied.');
      return ask(new TenantRows(database, known, document, cancellation));
    });
  return {
    rows: ({ tenant, space }, query, cancellation) => shown(tenant, cancellation, (rows) => rows.rows(space, query)),
    page: ({ tenant, space }, query, cancellation) => shown(tenant, cancellation, (rows) => rows.page(space, query)),
    versions: ({ tenant, space }, query, cancellation) =>
      shown(tenant, cancellation, (rows) => rows.versions(space, query)),
    spaces: (tenant) =>
      connection.run(async (database) => new TenantRows(database, known, await tenantIn(database, tenant)).spaces()),
    progress: (tenant) =>
      connection.run(async (database) => {
        const [document, kept] = await Promise.all([
          tenantIn(database, tenant),
          database.checkpoints.findOne({ _id: shareOf(tenant) }),
        ]);
        const progress = document && progressOf(document);
        if (progress?.state !== 'running') return progress;
        // Its writer has found nothing of it in between.
        return { ...progress, position: Math.max(progress.position, kept?.position ?? 0) };
      }),
    close: () => connection.close(),
  };
}

/** The least that writers of all shares have kept. */
export async function keptCheckpoint(url: string): Promise<Checkpoint | undefined> {
  const connection = new MongoConnection(url);
  try {
    return await connection.run(async ({ checkpoints }) => {
      const { _id, ...first } = (await checkpoints.findOne({}, { sort: { position: 1 } })) ?? {};
      return 'position' in first ? first : undefined;
    });
  } finally {
    await connection.close();
  }
}
