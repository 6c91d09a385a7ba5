/** Reads of an earlier moment: `at=` names it, by a time or by a position of the log. */
import type { Request } from 'express';
import { z } from 'zod';
import { dateTime } from '../../commands/body.js';
import { tenantEnd } from '../../commands/logReads.js';
import { loadStream } from '../../commands/writeStream.js';
import { evolveTenant, type OwnTenant, type Tenant } from '../../domain/identity/directory.js';
import type { DirectoryEvent } from '../../domain/identity/events.js';
import { tenantStream } from '../../domain/streams.js';
import type { Position, RecordedEvent } from '../../ports/eventStore.js';
import { newestEntry } from '../../queries/activity.js';
import { cancellable, where } from '../../queries/asking.js';
import { RecordQueries } from '../../queries/records.js';
import { withTimeout } from '../../supervision/deadline.js';
import type { Api } from '../deps.js';
import { badRequest, unavailable } from '../errors.js';
import type { QueryParameter, Reply } from '../routes/operation.js';

export const AT: QueryParameter = {
  name: 'at',
  description:
    'As it was at this time (ISO 8601, UTC where no zone is given), or at this position of the log. The answer names the position in `At-Position`.',
  schema: { type: 'string' },
};

const POSITION = /^\d{1,15}$/;
const time = z.object({ time: dateTime });

/** How long a moment waits for the rows to come there: they have, unless they are behind. */
const SHOWN_WITHIN_MS = 2_000;

/** The tenant as it was. */
type Past = { readonly tenant: Tenant; readonly position: Position };

/**
 * The moment that a parameter names; undefined if it is not given.
 * @throws HttpError 400 for no moment, one in the future or before the tenant; 503 if the rows have not come there yet
 */
export async function pastIn(
  api: Api,
  { context: { deadline, tenant } }: Request,
  query: URLSearchParams,
  name = 'at',
): Promise<Past | undefined> {
  const text = query.get(name);
  if (text === null) return undefined;
  const { eventStore, now } = api.commands;
  const future = badRequest(`${name} is in the future.`);
  let position = Number(text);
  if (!POSITION.test(text)) {
    const { data } = time.safeParse({ time: text });
    if (data === undefined)
      throw badRequest(`${name} must be a time such as 2026-11-21T03:11:47Z, or a position of the log.`);
    if (data.time > now()) throw future;
    const until = where({ created_at: { lte: data.time } });
    position = (await newestEntry(cancellable(api.rows, deadline), tenant.name, until))?.position ?? 0;
  }
  if (position > (await eventStore.head())) throw future;
  const evolve = (then: OwnTenant | undefined, event: RecordedEvent): OwnTenant | undefined =>
    event.position > position
      ? then
      : evolveTenant(then, event as unknown as DirectoryEvent, event.metadata.occurredAt);
  const pages = { cancellation: deadline };
  const { state } = await loadStream(eventStore, tenantStream(tenant.name), evolve, undefined, pages);
  if (state === undefined) throw badRequest(`${name} is before this tenant was made.`);
  if (!(await api.progress.waitFor(tenant.name, position, SHOWN_WITHIN_MS)))
    throw unavailable('The tables do not show this moment yet.');
  return { tenant: state, position };
}

/** How long a page waits for what is in the log already, in milliseconds. */
const UNTIL_SHOWN_MS = 500;

/** While the log is away a page has what was read from it before. */
export async function untilShown({ commands, progress }: Api, tenant: string): Promise<void> {
  const shown = async () => progress.waitFor(tenant, await tenantEnd(commands, tenant), UNTIL_SHOWN_MS);
  // What the rows' engine throws, the reading of the page throws again.
  await withTimeout(UNTIL_SHOWN_MS, 'The log did not answer in time.', shown()).catch(() => undefined);
}

/** The tenant's tables as they were. */
export const recordsAt = ({ rows }: Api, { tenant, position }: Past): RecordQueries =>
  new RecordQueries(rows, { tenant: () => tenant }, position);

/** Answers of a moment name its position, so that further requests can name it. */
export const atPosition = (position: Position | undefined): Reply['headers'] =>
  position === undefined ? undefined : { 'At-Position': String(position) };

/** The tables and their records now, or at the moment that the query names. @throws as `pastIn` */
export async function readAt(
  api: Api,
  req: Request,
  query: URLSearchParams,
): Promise<Pick<Past, 'tenant'> & Partial<Past> & { readonly reads: RecordQueries }> {
  const past = await pastIn(api, req, query);
  if (past !== undefined) return { ...past, reads: recordsAt(api, past) };
  const { tenant } = req.context;
  return { tenant: api.directory.tenant(tenant.name) ?? tenant, reads: api.queries.records };
}
