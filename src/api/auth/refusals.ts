/**
 * Tells the log what was refused to people: of each tenant the first refusal at once, and then once a minute how many there
 * were since, by user and network. So an attacker adds a few events a minute to the log, whatever they send. What a process
 * has not told yet when it ends is lost; the access log has it.
 */
import type { Logger } from 'pino';
import type { Caller } from '../../commands/context.js';
import { recordAccess } from '../../commands/identity/access.js';
import type { LogAccess } from '../../commands/writeStream.js';
import type { AccessEvent, User } from '../../domain/identity/events.js';
import type { Role } from '../../domain/identity/scopes.js';
import { MAX_REFUSALS_TOLD, REFUSALS_TOLD_EVERY_S } from '../../domain/limits.js';
import type { RequestContext } from '../requestContext.js';

type Refusal = Extract<AccessEvent, { type: 'SignInRefused' | 'RequestRefused' }>;
type Waiting = { readonly refusal: Refusal; readonly caller: Caller; times: number };

/** Nobody is authenticated. */
const SIGN_IN = { kind: 'system', id: 'sign-in' } as const;

const OTHERS = 'others';

const timesOf = (refusal: Refusal, times: number): Refusal =>
  refusal.type === 'SignInRefused'
    ? { type: refusal.type, data: { ...refusal.data, times } }
    : { type: refusal.type, data: { ...refusal.data, times } };

type Deps = { readonly commands: LogAccess; readonly log: Logger };
type Context = Pick<RequestContext, 'noting' | 'actor'>;

export class Refusals {
  readonly #deps: Deps;
  readonly #everyMs: number;
  /** By tenant, while it has had a refusal within the last minute: those that are not told yet, by their key. */
  readonly #tenants = new Map<string, Map<string, Waiting>>();

  constructor(deps: Deps, everyMs = REFUSALS_TOLD_EVERY_S * 1_000) {
    this.#deps = deps;
    this.#everyMs = everyMs;
  }

  /** A sign-in with a wrong password, or with a name that no user of the tenant has. */
  signIn(context: Context, network: string, user: Pick<User, 'id'> | undefined): void {
    const data = { userId: user?.id ?? null, network, times: 1 };
    this.#note(context.noting(SIGN_IN), `sign-in ${data.userId} ${data.network}`, { type: 'SignInRefused', data });
  }

  /** What the roles of a signed-in user do not allow. */
  request(context: Context, { id: userId }: Pick<User, 'id'>, roles: readonly Role[]): void {
    this.#note(context.noting(context.actor), `request ${userId}`, {
      type: 'RequestRefused',
      data: { userId, roles, times: 1 },
    });
  }

  #note(caller: Caller, key: string, refusal: Refusal): void {
    const { tenant } = caller;
    const waiting = this.#tenants.get(tenant);
    if (waiting === undefined) {
      this.#tenants.set(tenant, new Map());
      this.#tell([{ refusal, caller, times: 1 }]);
      this.#tellLater(tenant);
      return;
    }
    const known = waiting.get(key);
    if (known !== undefined) known.times += 1;
    else if (waiting.size < MAX_REFUSALS_TOLD) waiting.set(key, { refusal, caller, times: 1 });
    else this.#countOther(waiting, caller);
  }

  /** Refusals of all others are only counted. */
  #countOther(waiting: Map<string, Waiting>, of: Caller): void {
    const known = waiting.get(OTHERS);
    if (known !== undefined) known.times += 1;
    else {
      const data = { userId: null, network: OTHERS, times: 1 };
      const caller = { ...of, actor: SIGN_IN };
      waiting.set(OTHERS, { refusal: { type: 'SignInRefused', data }, caller, times: 1 });
    }
  }

  #tellLater(tenant: string): void {
    const tell = () => {
      const waiting = [...(this.#tenants.get(tenant)?.values() ?? [])];
      this.#tenants.delete(tenant);
      if (waiting.length === 0) return;
      this.#tenants.set(tenant, new Map());
      this.#tell(waiting);
      this.#tellLater(tenant);
    };
    setTimeout(tell, this.#everyMs).unref();
  }

  #tell(all: readonly Waiting[]): void {
    const { commands, log } = this.#deps;
    for (const { refusal, caller, times } of all) {
      recordAccess(commands, caller, [timesOf(refusal, times)]).catch((error: unknown) =>
        log.warn({ err: error, requestId: caller.correlationId }, 'a refusal was not noted in the event log'),
      );
    }
  }
}
