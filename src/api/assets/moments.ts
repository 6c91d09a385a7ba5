/** Reads of an earlier moment: `at=` names it, by a time or by a position of the log. */
import type { Request } from 'express';
import { z } from 'zod';
import { tenantEnd } from '../../commands/catchUp.js';
import { streamPages } from '../../commands/streamPages.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
import { copiedOnce, type Tenant } from '../../domain/identity/directory.js';
import { tenantStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import { evolveTenantIn } from '../../projections/directory/evolveTenant.js';
import { newestEntry } from '../../queries/activity.js';
import { cancellable, where } from '../../queries/asking.js';
import { RecordQueries } from '../../queries/records.js';
import { withTimeout } from '../../supervision/waiting.js';
import type { Api } from '../deps.js';
import { badRequest, notFound, unavailable } from '../errors.js';
import type { QueryParameter, Reply } from '../routes/operation.js';

export const AT: QueryParameter = {
  name: 'at',
  description:
    'As it was at this time (ISO 8601, UTC where no zone is given), or at this position of the log. The answer names the position in `At-Position`.',
  schema: { type: 'string' },
};

export type Moment = { readonly position: Position } | { readonly time: string };

const POSITION = /^\d{1,15}$/;
const time = z.object({ time: dateTime });

/** The moment that a parameter names; undefined if it is not given. @throws HttpError 400 */
export function momentIn(query: URLSearchParams, name = 'at'): Moment | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (POSITION.test(text)) return { position: Number(text) };
  const parsed = time.safeParse({ time: text });
  if (parsed.success) return parsed.data;
  throw badRequest(`${name} must be a time such as 2026-11-21T03:11:47Z, or a position of the log.`);
}

/** The tenant as it was. */
export type Past = { readonly tenant: Tenant; readonly position: Position };

/** How long a moment waits for the rows to come there: they have, unless they are behind. */
const SHOWN_WITHIN_MS = 2_000;

/**
 * @param name of the parameter
 * @throws HttpError 400 for a moment in the future, or before the tenant; 503 if the rows have not come there yet
 */
export async function pastOf(api: Api, req: Request, moment: Moment, name = 'at'): Promise<Past> {
  const { eventStore, now } = api.commands;
  const { deadline, tenant: asked } = req.context;
  const isFuture = 'position' in moment ? moment.position > (await eventStore.head()) : moment.time > now();
  if (isFuture) throw badRequest(`${name} is in the future.`);
  const lastUntil = async (time: string): Promise<Position> =>
    (await newestEntry(cancellable(api.rows, deadline), asked.name, where({ created_at: { lte: time } })))?.position ??
    0;
  const position = 'position' in moment ? moment.position : await lastUntil(moment.time);
  const tenant = await tenantAt(api, req, position);
  if (tenant === undefined) throw badRequest(`${name} is before this tenant was made.`);
  if (!(await api.progress.waitFor(tenant.name, position, SHOWN_WITHIN_MS))) {
    throw unavailable('The tables do not show this moment yet.');
  }
  return { tenant, position };
}

/** Undefined before it was created. */
async function tenantAt(
  { commands: { eventStore } }: Api,
  { context: { tenant, deadline } }: Request,
  position: Position,
): Promise<Tenant | undefined> {
  const tenants = new Map<string, Tenant | undefined>();
  const writable = copiedOnce();
  for await (const events of streamPages(eventStore, tenantStream(tenant.name), { cancellation: deadline })) {
    for (const event of events) if (event.position <= position) evolveTenantIn(tenants, event, writable);
    if ((events.at(-1)?.position ?? 0) > position) break;
  }
  return [...tenants.values()][0];
}

/** How long a page waits for what is in the log already, in milliseconds. */
const UNTIL_SHOWN_MS = 500;

/** While the log is away a page has what was read from it before. */
export async function untilShown({ commands, progress }: Api, tenant: string): Promise<void> {
  const shown = async () => progress.waitFor(tenant, await tenantEnd(commands, tenant), UNTIL_SHOWN_MS);
  // What the rows' engine throws, the reading of the page throws again.
  await withTimeout(UNTIL_SHOWN_MS, 'The log did not answer in time.', shown()).catch(() => undefined);
}

/** The table's fields at that moment. @throws HttpError 404 if there was no such table yet */
export function pastTypeOf({ tenant }: Past, table: string): AssetType {
  const assetType = tenant.assetTypes.get(table);
  if (assetType === undefined) throw notFound(`There was no asset ${table} then.`);
  return assetType;
}

/** The tenant's tables as they were. */
export const recordsAt = ({ rows }: Api, { tenant, position }: Past): RecordQueries =>
  new RecordQueries(rows, { tenant: () => tenant }, position);

/** Answers of a moment name its position, so that further requests can name it. */
export const atPosition = (position: Position): NonNullable<Reply['headers']> => ({ 'At-Position': String(position) });

/** The table and its records now, or at the moment that the query names. */
export type Read = { readonly table: AssetType; readonly reads: RecordQueries; readonly position?: Position };

/** @throws HttpError 400, 404 */
export async function readAt(api: Api, req: Request, assetType: AssetType, query: URLSearchParams): Promise<Read> {
  const moment = momentIn(query);
  if (moment === undefined) return { table: assetType, reads: api.queries.records };
  const past = await pastOf(api, req, moment);
  return { table: pastTypeOf(past, assetType.name), reads: recordsAt(api, past), position: past.position };
}
