/** Reads of an earlier moment: `at=` names it, by a time or by a position of the log. */
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { lastWhere } from '../../commands/referenceTables/syncHistory.js';
import { eventAt, streamPages } from '../../commands/streamPages.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { orderStream, tableStream, tenantStream } from '../../domain/streams.js';
import { copiedOnce } from '../../domain/writable.js';
import type { EventStore, Position, RecordedEvent, Revision } from '../../ports/eventStore.js';
import { type PastTable, PastTableBuildingError } from '../../ports/pastTables.js';
import { evolveTenantIn } from '../../projector/steps.js';
import type { Api } from '../deps.js';
import { badRequest, notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { QueryParameter, Reply } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';

export const AT: QueryParameter = {
  component: 'At',
  name: 'at',
  description:
    'As it was at this time (ISO 8601, UTC where no zone is given), or at this position of the log. The answer names the position in `At-Position`.',
  schema: { type: 'string' },
};

/** Answers of operations that take a moment. */
export const PAST_ANSWERS: json.Responses = {
  // Without a schema of its body (`position`, `progress`): typed clients would not know which of two answers they have.
  202: {
    description: 'The table as it was is being made: ask again at `Location`.',
    headers: {
      Location: { description: 'The same request, with the moment as a position.', schema: json.link },
      'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
    },
  },
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

/** The tenant's tables as they were. */
export type Past = {
  readonly moment: Moment;
  readonly tenant: Tenant;
  /** Position of the tenant's last event until then. */
  readonly definedAt: Position;
};

const isUntil =
  (moment: Moment) =>
  ({ position, metadata }: RecordedEvent): boolean =>
    'position' in moment ? position <= moment.position : metadata.occurredAt <= moment.time;

/** Which event it is; what it says may be a megabyte. */
type EventName = Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'>;

/** The last events of streams at positions, which never change: a page of a list asks for the same as the page before. */
const lastEvents = new WeakMap<EventStore, LRUCache<string, EventName>>();

function lastEventsOf(eventStore: EventStore): LRUCache<string, EventName> {
  const known = lastEvents.get(eventStore) ?? new LRUCache<string, EventName>({ max: 1_000 });
  lastEvents.set(eventStore, known);
  return known;
}

/** The last event of a stream at this moment; undefined before its first. */
async function lastEventOf(
  { commands: { eventStore } }: Api,
  { context: { deadline } }: Request,
  streamName: string,
  moment: Moment,
): Promise<EventName | undefined> {
  const kept = lastEventsOf(eventStore);
  const key = 'position' in moment ? `${streamName} ${moment.position}` : undefined;
  const known = key === undefined ? undefined : kept.get(key);
  if (known !== undefined) return known;
  const end = (await eventStore.lastAppend(streamName))?.revision ?? -1;
  const isNotAfter = isUntil(moment);
  const isTrue = async (revision: Revision): Promise<boolean> => {
    const event = await eventAt(eventStore, streamName, revision);
    return event !== undefined && isNotAfter(event);
  };
  const event = await eventAt(eventStore, streamName, await lastWhere(end, isTrue, deadline));
  if (event === undefined) return undefined;
  const { id, stream, revision, position } = event;
  const name = { id, stream, revision, position };
  if (key !== undefined) kept.set(key, name);
  return name;
}

/** Tenants by log, name and revision of their stream: a page of a list asks for the same one as the page before. */
const pastTenants = new LRUCache<string, Tenant>({ max: 100 });

/** @param name of the parameter @throws HttpError 400 for a moment in the future, or before the tenant */
export async function pastOf(api: Api, req: Request, moment: Moment, name = 'at'): Promise<Past> {
  return api.work.run('events', req.context, async () => {
    const { commands } = api;
    const isFuture =
      'position' in moment ? moment.position > (await commands.eventStore.head()) : moment.time > commands.now();
    if (isFuture) throw badRequest(`${name} is in the future.`);
    const { positionAt } = commands.eventStore;
    // Where the log can be searched for it, the place in the whole log, so that a position says the same.
    const exact = 'time' in moment && positionAt !== undefined ? { position: await positionAt(moment.time) } : moment;
    const stream = tenantStream(req.context.tenant.name);
    const last = await lastEventOf(api, req, stream, exact);
    if (last === undefined) throw badRequest(`${name} is before this tenant was made.`);
    return { moment: exact, tenant: await tenantUntil(api, req, last), definedAt: last.position };
  });
}

async function tenantUntil({ commands }: Api, req: Request, last: EventName): Promise<Tenant> {
  const known = pastTenants.get(last.id);
  if (known !== undefined) return known;
  const tenants = new Map<string, Tenant | undefined>();
  const writable = copiedOnce();
  const pages = { to: last.revision, cancellation: req.context.deadline };
  for await (const events of streamPages(commands.eventStore, last.stream, pages)) {
    for (const event of events) evolveTenantIn(tenants, event, writable);
  }
  const [tenant] = tenants.values();
  if (tenant === undefined) throw new Error(`${last.stream} makes no tenant.`);
  pastTenants.set(last.id, tenant);
  return tenant;
}

/** The table's fields at that moment. @throws HttpError 404 if there was no such table yet */
export function pastTypeOf({ tenant }: Past, table: string): AssetType {
  const assetType = tenant.assetTypes.get(table);
  if (assetType === undefined) throw notFound(`There was no asset ${table} then.`);
  return assetType;
}

/**
 * Names the copy of a table. A reference table is the same from one of its events to the next, so the copy is that of its
 * last event: a table that did not change is made once, whatever moments are asked for.
 * @throws HttpError 400 for a time of orders where the engine of the log cannot find it
 */
export async function pastTableOf(
  api: Api,
  req: Request,
  past: Past,
  { name: table, supportingData: isReference }: AssetType,
): Promise<PastTable> {
  const { moment, tenant, definedAt } = past;
  const named = { tenant: tenant.name, table, isReference };
  if (!isReference) return { ...named, position: positionIn(moment) };
  const last = await api.work.run('events', req.context, () =>
    lastEventOf(api, req, tableStream(tenant.name, table), moment),
  );
  return { ...named, position: Math.max(definedAt, last?.position ?? 0) };
}

function positionIn(moment: Moment): Position {
  if ('position' in moment) return moment.position;
  throw badRequest(
    'This event log cannot find a time among all orders: name a position, such as that of an entry of a history.',
  );
}

/** An order as it was, from its own events. @throws HttpError 404 if there was none yet */
export async function pastOrderOf(api: Api, req: Request, { moment, tenant, definedAt }: Past, id: string) {
  const stream = orderStream(tenant.name, id);
  const last = await api.work.run('events', req.context, () => lastEventOf(api, req, stream, moment));
  const { deadline } = req.context;
  const order = last && (await api.commands.orders.loadAt(tenant.name, id, last.revision, deadline));
  if (last === undefined || order === undefined) throw notFound(`There was no order ${id} then.`);
  return { order: order.state, position: Math.max(definedAt, last.position) };
}

/** Answers of a moment name its position, so that further requests can name it. */
export const atPosition = (position: Position): NonNullable<Reply['headers']> => ({ 'At-Position': String(position) });

/**
 * Answers 202 while a copy is made.
 * @param positions of the moments, by their parameters
 * @param position of the latest moment
 */
export async function unlessBuilding(
  { config }: Api,
  req: Request,
  query: URLSearchParams,
  positions: { readonly [parameter: string]: Position },
  work: () => Promise<Reply>,
  position = Math.max(...Object.values(positions)),
): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PastTableBuildingError)) throw error;
    const same = new URLSearchParams(query);
    for (const [name, value] of Object.entries(positions)) same.set(name, String(value));
    return {
      status: 202,
      headers: { Location: `${requestUrl(req, config)}?${same}`, 'Retry-After': '1', 'Cache-Control': 'no-store' },
      body: JSON.stringify({ data: { position, progress: Math.round(error.progress * 1_000) / 1_000 } }),
    };
  }
}
