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
import type { RequestContext } from '../requestContext.js';

/** Users and networks that one such report names; all others are counted together. */
export const MAX_REFUSALS_TOLD = 10;
/** Seconds between two reports to the log of what was refused to people of a tenant. */
const REFUSALS_TOLD_EVERY_S = 60;

type Refusal = Extract<AccessEvent, { type: 'SignInRefused' | 'RequestRefused' }>;
/** A refusal that is not noted yet. `refusal` makes its event, which says how many times it happened. */
type Waiting = { readonly refusal: (times: number) => Refusal; readonly caller: Caller; readonly times: number };

/** Nobody is authenticated. */
const SIGN_IN = { kind: 'system', id: 'sign-in' } as const;

const OTHERS = 'others';

const signInRefused =
  (userId: User['id'] | null, network: string) =>
  (times: number): Refusal => ({ type: 'SignInRefused', data: { userId, network, times } });

type Deps = { readonly commands: LogAccess; readonly log: Logger };
type Context = Pick<RequestContext, 'callerAs' | 'actor'>;

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
    const userId = user?.id ?? null;
    this.#note(context.callerAs(SIGN_IN), `sign-in ${userId} ${network}`, signInRefused(userId, network));
  }

  /** What the roles of a signed-in user do not allow. */
  request(context: Context, { id: userId }: Pick<User, 'id'>, roles: readonly Role[]): void {
    this.#note(context.callerAs(context.actor), `request ${userId}`, (times) => ({
      type: 'RequestRefused',
      data: { userId, roles, times },
    }));
  }

  #note(caller: Caller, key: string, refusal: Waiting['refusal']): void {
    const waiting = this.#tenants.get(caller.tenant);
    if (waiting === undefined) {
      this.#tell(caller.tenant, [{ refusal, caller, times: 1 }]);
      return;
    }
    const isNamed = waiting.has(key) || waiting.size < MAX_REFUSALS_TOLD;
    // All others are only counted.
    const first = isNamed
      ? { refusal, caller, times: 0 }
      : { refusal: signInRefused(null, OTHERS), caller: { ...caller, actor: SIGN_IN }, times: 0 };
    const known = waiting.get(isNamed ? key : OTHERS) ?? first;
    waiting.set(isNamed ? key : OTHERS, { ...known, times: known.times + 1 });
  }

  /** Tells these at once, and what comes after them once a minute. */
  #tell(tenant: string, refusals: readonly Waiting[]): void {
    const { commands, log } = this.#deps;
    for (const { refusal, caller, times } of refusals) {
      recordAccess(commands, caller, [refusal(times)]).catch((error: unknown) =>
        log.warn({ err: error, requestId: caller.correlationId }, 'a refusal was not noted in the event log'),
      );
    }
    const waiting = new Map<string, Waiting>();
    this.#tenants.set(tenant, waiting);
    const goOn = (): void => {
      this.#tenants.delete(tenant);
      if (waiting.size > 0) this.#tell(tenant, [...waiting.values()]);
    };
    setTimeout(goOn, this.#everyMs).unref();
  }
}
