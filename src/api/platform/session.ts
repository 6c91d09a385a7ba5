/** Sign-in and sign-out: `/api/v1/platform/session`. */
import type { CookieOptions, Request } from 'express';
import { z } from 'zod';
import { parseBody, shortText } from '../../commands/body.js';
import { ValidationError } from '../../commands/context.js';
import { endSession } from '../../commands/identity/access.js';
import { credentialOf, passwordMatches } from '../../commands/identity/secrets.js';
import {
  changeOwnPassword,
  authenticateUser as checkPassword,
  ownPasswordBody,
} from '../../commands/identity/users.js';
import { known, tenantOf } from '../../commands/tables.js';
import type { User } from '../../domain/identity/events.js';
import {
  noteAccess,
  openSession,
  principalOf,
  SESSION_COOKIE,
  sessionTokenIn,
  unauthenticated,
} from '../auth/principal.js';
import type { Api } from '../deps.js';
import { HttpError } from '../errors.js';
import * as json from '../openapi/schema.js';
import { limitNetwork, withinGuesses } from '../rateLimit.js';
import { type Call, dataReply, noContent, type Reply, type Resource } from '../routes/operation.js';
import { addressOfRequest, networkOfRequest } from '../senderAddress.js';
import { isLoopbackHost, requestHost } from '../tenantHost.js';
import { FIRST_PASSWORD_DAYS, firstPasswordEnd, userView } from './users.js';

const signInBody = z.strictObject({ email: shortText, password: shortText });

export const session: Resource = {
  tag: 'platform: session',
  schemas: {
    Session: json.closedObject({
      token: { type: 'string' },
      expires_in: { type: 'integer' },
      user: json.ref('User'),
    }),
  },
  operations: {
    'POST /session': {
      id: 'platformSignIn',
      summary: 'Sign in; sets the session cookie as well',
      allow: 'anyone',
      body: {
        ...json.bodyOf(signInBody, { email: 'vera@example.com', password: 'correct horse battery' }),
        limit: 'credentials',
      },
      answer: json.one('Session'),
      async handle(api, call) {
        const { req, res, body } = call;
        await limitNetwork(api, req, res);
        const { email, password } = parseBody(signInBody, body);
        const user = await signedIn(api, req, email, password);
        req.context.principal = principalOf(user);
        const { id, reply } = openedSession(api, call, user);
        await noteAccess(api, req.context, { type: 'SignedIn', data: { userId: user.id, sessionId: id } });
        return reply;
      },
    },
    'POST /session/password': {
      id: 'platformChangeOwnPassword',
      summary: 'Change your own password; all other sessions end, and this one goes on with a new token',
      allow: 'users',
      withFirstPassword: true,
      body: {
        ...json.bodyOf(ownPasswordBody, { old_password: 'correct horse battery', new_password: 'staple the battery' }),
        limit: 'credentials',
      },
      answer: json.one('Session'),
      async handle(api, call) {
        const { req, caller, person: user } = call;
        const input = parseBody(ownPasswordBody, call.body);
        await requirePassword(api, req, user, input.old_password);
        const { tenant } = await changeOwnPassword(api.commands, caller, user, input);
        return openedSession(api, call, known(tenant?.users, user.id, 'user')).reply;
      },
    },
    'GET /session': {
      id: 'platformGetSession',
      summary: 'The user who is signed in',
      allow: 'users',
      withFirstPassword: true,
      answer: json.one('User'),
      handle: (_api, { person }) => dataReply(userView.show(person)),
    },
    'DELETE /session': {
      id: 'platformSignOut',
      summary: 'Sign out: end the session of the token or the cookie, and clear the cookie',
      allow: 'anyone',
      ...noContent(async (api, call: Call) => {
        await limitNetwork(api, call.req, call.res);
        await endOwnSession(api, call.req);
        call.res.clearCookie(SESSION_COOKIE, cookieOptions(call.req, api.config));
      }),
    },
  },
};

/** Opens a session, and the answer with its token. */
function openedSession(api: Api, call: Call, user: User): { readonly id: string; readonly reply: Reply } {
  const { name } = call.req.context.tenant;
  const claims = { tenant: name, user_id: user.id, credential: credentialOf(user.passwordHash) };
  const { token, expiresIn, id } = api.tokens.issue('user', `user:${user.id}`, claims);
  call.res.cookie(SESSION_COOKIE, token, { ...cookieOptions(call.req, api.config), maxAge: expiresIn * 1000 });
  return { id, reply: dataReply({ token, expires_in: expiresIn, user: userView.show(user) }) };
}

/** Secure except on this machine: behind a proxy, TLS is not always visible here. */
const cookieOptions = (req: Request, config: Api['config']): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  path: '/',
  secure: req.secure || !isLoopbackHost(requestHost(req, config)),
});

/** @param find the owner of what was guessed. @throws HttpError 429 after too many wrong ones */
function guessing<Owner>(api: Api, req: Request, email: string, find: () => Promise<Owner | undefined>) {
  const account = email.toLowerCase();
  const guess = { kind: 'password', tenant: req.context.tenant.name, account, network: networkOfRequest(req) } as const;
  return withinGuesses(api, guess, 'Too many wrong passwords; try again later.', find);
}

/**
 * A thief of an open session must not be able to guess the password faster than at a sign-in.
 * @throws ValidationError if it is wrong; HttpError 429 after too many wrong ones
 */
async function requirePassword(api: Api, req: Request, { email, passwordHash }: User, given: string): Promise<void> {
  const { tenant, deadline } = req.context;
  const isRight = await guessing(api, req, email, async () =>
    (await passwordMatches(tenant.name, given, passwordHash, deadline)) ? true : undefined,
  );
  if (isRight !== true) throw new ValidationError({ old_password: ['The old_password field is wrong.'] });
}

/** The user with this e-mail address and password. @throws HttpError 401; 429 after too many wrong ones */
async function signedIn(api: Api, req: Request, email: string, password: string): Promise<User> {
  const { tenant, requestId, deadline } = req.context;
  const user = await guessing(api, req, email, async () => {
    // Another process, such as the command line, may have added the user or changed the password.
    await api.refresh();
    return checkPassword(api.directory, tenant.name, email, password, deadline);
  });
  const end = user && firstPasswordEnd(user);
  if (end !== undefined && end < api.commands.now())
    throw unauthenticated(`This password was good for ${FIRST_PASSWORD_DAYS} days only: ask an admin for another one.`);
  if (user !== undefined) return user;
  api.log.warn({ tenant: tenant.name, address: addressOfRequest(req), requestId }, 'sign-in refused');
  const users = [...tenantOf(api.commands, tenant.name).users.values()];
  const userId = users.find((each) => each.email === email.toLowerCase())?.id ?? null;
  const data = { userId, network: networkOfRequest(req), times: 1 };
  void noteAccess(api, req.context, { type: 'SignInRefused', data });
  throw unauthenticated('The e-mail address or the password is wrong.');
}

/**
 * Ends the request's session; without a valid one it does nothing. Another site cannot make a browser send this: a
 * cross-origin DELETE needs CORS permission, which is never given for requests with the cookie.
 */
async function endOwnSession(api: Api, req: Request): Promise<void> {
  const text = sessionTokenIn(req);
  if (text === undefined) return;
  try {
    const session = await openSession(api, req, text);
    await endSession(api.commands, req.context.caller(), session);
  } catch (error) {
    if (!(error instanceof HttpError) || error.status !== 401) throw error;
  }
}
