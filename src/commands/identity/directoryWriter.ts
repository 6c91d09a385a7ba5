/** Changes of a tenant's directory streams: few events each, so that a decision reads them whole. */
import { evolveTenant, type OwnTenant, ownCopy, type Tenant } from '../../domain/identity/directory.js';
import type { DirectoryEvent } from '../../domain/identity/events.js';
import { clientsStream, tenantStream, usersStream, webhooksStream } from '../../domain/streams.js';
import type { Position, RecordedEvent } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { DeadlineError, withTimeout } from '../../supervision/deadline.js';
import { messageOf } from '../../supervision/files.js';
import { type Caller, type Commands, ConflictError, NotFoundError, patience, TryLaterError } from '../context.js';
import type { StreamReads } from '../logReads.js';
import { known } from '../tables.js';
import { type Change, type LogAccess, loadStream, writeStream } from '../writeStream.js';

/** Directory commands decide on what the log says, then wait until the directory in memory knows the change. */
export type DirectoryCommands = LogAccess & {
  readonly directory: Pick<Commands['directory'], 'waitFor'>;
  readonly directoryChanges?: DirectoryChanges;
};

/** Changes of directory streams that wait for their turn, by stream. */
export type DirectoryChanges = Map<string, Change<OwnTenant | undefined, DirectoryEvent>[]>;

/** The tenant as its own stream and one more of its directory streams say. @throws TryLaterError if it is parked */
async function loadTenant(reads: StreamReads, tenant: string, stream: string, cancellation?: Cancellation) {
  let parked: TryLaterError | undefined;
  const evolve = (state: OwnTenant | undefined, event: RecordedEvent): OwnTenant | undefined => {
    const { id, type, data, metadata, position } = event;
    // A parked tenant can be deleted.
    if (parked !== undefined && type !== 'TenantDeleted') return state;
    try {
      return evolveTenant(state, { type, data } as DirectoryEvent, metadata.occurredAt, position);
    } catch (error) {
      parked = new TryLaterError(
        `The tenant is parked: ${type} (${id}) of the stream ${event.stream} could not be applied: ${messageOf(error)} Nothing is lost: a release with a fix goes on from there.`,
      );
      return state;
    }
  };
  const ofTenant = tenantStream(tenant);
  const before = await loadStream(reads, ofTenant, evolve, undefined, { cancellation });
  const loaded = stream === ofTenant ? before : await loadStream(reads, stream, evolve, before.state, { cancellation });
  if (parked !== undefined && loaded.state?.deleted !== true) throw parked;
  return loaded;
}

export type DirectoryChange = {
  /** Of the last event; 0 when nothing changed. */
  readonly position: Position;
  /** After the change, with what its own stream and the written one say. The directory may not know it yet. */
  readonly tenant: Tenant | undefined;
};

/** A command on the directory. Each throws NotFoundError for an unknown or a deleted tenant; TryLaterError for a parked one. */
export type DirectoryWrite<Args extends readonly unknown[], Answer = unknown> = (
  commands: DirectoryCommands,
  caller: Caller,
  ...args: Args
) => Promise<DirectoryChange & Answer>;

/** Pure; throws to refuse; returns no events when nothing changes. */
type Decide<States extends readonly unknown[]> = (...states: States) => readonly DirectoryEvent[];

/** Decides on the tenant as its own stream and this one say, and appends to this one. */
export const writeDirectory: DirectoryWrite<[string, Decide<[Tenant]>]> = (commands, caller, stream, decide) =>
  writeTenant(commands, caller, stream, (tenant) => {
    if (tenant === undefined) throw new NotFoundError(`There is no tenant ${caller.tenant}.`);
    return decide(tenant);
  });

/**
 * The same for a tenant that may not be there: `decide` gets undefined. The directory usually knows the change when this
 * returns; while the log is slow to be read it does not, and the write stands all the same.
 */
export const writeTenant: DirectoryWrite<[string, Decide<[Tenant?]>]> = async (commands, caller, stream, decide) => {
  const { position, state, events, at } = await writeStream(commands, caller, {
    stream,
    load: (_, { deadline }) => loadTenant(commands.eventStore, caller.tenant, stream, deadline),
    shared: commands.directoryChanges && { waiting: commands.directoryChanges, after: tenantAfter },
    decide: (tenant) => {
      if (tenant?.deleted) throw new NotFoundError(`Tenant ${caller.tenant} was deleted; its name is not given again.`);
      return decide(tenant);
    },
  });
  if (position > 0) await waitUntilKnown(commands, caller, position);
  return { position, tenant: tenantAfter(state, events, at, position) };
};

/** @param position counts in what is answered only; no decision depends on it */
const tenantAfter = (before: OwnTenant | undefined, events: readonly DirectoryEvent[], at: string, position = 0) =>
  events.reduce((tenant, event) => evolveTenant(tenant, event, at, position), before && ownCopy(before));

/** A tenant as the log has it now, for processes without a directory. @throws NotFoundError; TryLaterError if it is parked */
export async function tenantNow(log: Pick<LogAccess, 'eventStore'>, tenant: string, stream = tenantStream(tenant)) {
  const { state } = await loadTenant(log.eventStore, tenant, stream);
  if (state === undefined || state.deleted) throw new NotFoundError(`There is no tenant ${tenant}.`);
  return state;
}

/** @throws ConflictError when the tenant has as many as it may have */
export function refuseMore(things: string, count: number, max: number): void {
  if (count >= max)
    throw new ConflictError(`There are ${count} ${things}, and no more than ${max} fit; remove one first.`);
}

/** The given values that differ, compared as JSON: the order of properties in custom data shows in the bodies that are sent. */
export const changesOf = <Values extends object>(
  given: { readonly [Name in keyof Values]?: Values[Name] | undefined },
  before: Values,
): Partial<Values> =>
  Object.fromEntries(
    Object.entries(given).filter(
      ([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(before[name as keyof Values]),
    ),
  ) as Partial<Values>;

const KNOWN_WITHIN_MS = 5_000;

/**
 * Resolves when the directory knows the log up to this position, after five seconds, or in time for the answer: it may
 * show a secret that nobody sees again.
 */
export async function waitUntilKnown({ directory }: DirectoryCommands, caller: Caller, position: Position) {
  const longestMs = patience(caller, 2 * KNOWN_WITHIN_MS) / 2;
  await withTimeout(longestMs, 'It is not known in time.', directory.waitFor(position)).catch((error: unknown) => {
    if (!(error instanceof DeadlineError)) throw error;
  });
}

/** Decides on one of the tenant's entries, and on the tenant. It throws NotFoundError when there is none of this key. */
const writerOf =
  <Key extends string | number, Entry>(
    kind: string,
    streamOf: (tenant: string) => string,
    entriesOf: (tenant: Tenant) => ReadonlyMap<Key, Entry>,
  ): DirectoryWrite<[Key, Decide<[Entry, Tenant]>]> =>
  (commands, caller, key, decide) =>
    writeDirectory(commands, caller, streamOf(caller.tenant), (tenant) =>
      decide(known(entriesOf(tenant), key, kind), tenant),
    );

export const writeUser = writerOf('user', usersStream, ({ users }) => users);
export const writeClient = writerOf('API client', clientsStream, ({ clients }) => clients);
export const writeWebhook = writerOf('webhook', webhooksStream, ({ webhooks }) => webhooks);
