/** Sign-in and sign-out, `/api/v1/platform/session`, and where a person is signed in, `/api/v1/platform/sessions`. */
import type { CookieOptions, Request } from 'express';
import { z } from 'zod';
import { parseBody, shortText } from '../../commands/body.js';
import { ValidationError } from '../../commands/context.js';
import { endSession } from '../../commands/identity/access.js';
import { credentialOf } from '../../commands/identity/secrets.js';
import {
  changeOwnPassword,
  authenticateUser as checkPassword,
  ownPasswordBody,
} from '../../commands/identity/users.js';
import { known, tenantOf } from '../../commands/tables.js';
import type { Session } from '../../domain/identity/directory.js';
import type { SessionOf, User } from '../../domain/identity/events.js';
import { MAX_STRING_LENGTH } from '../../domain/limits.js';
import { noteAccess, openSession, principalOf, SESSION_COOKIE, sessionTokenIn } from '../auth/principal.js';
import type { Api } from '../deps.js';
import { HttpError, unauthenticated } from '../errors.js';
import * as json from '../openapi/schema.js';
import { limitNetwork, withinGuesses } from '../rateLimit.js';
import { type Call, dataReply, noContent, pathText, type Reply, type Resource } from '../routes/operation.js';
import { addressOfRequest, networkOfRequest } from '../senderAddress.js';
import { isLoopbackHost, requestHost } from '../tenantHost.js';
import { FIRST_PASSWORD_DAYS, firstPasswordEnd, userView } from './users.js';

const signInBody = z.strictObject({ email: shortText, password: shortText });

type OwnSession = SessionOf & Session['opened'] & { readonly current: boolean };

const sessionView = json.view<OwnSession>({
  id: [json.text, ({ sessionId }) => sessionId],
  opened_at: [json.timestamp, ({ at }) => at],
  expires_at: json.timestamp,
  network: json.text,
  user_agent: json.text,
  current: json.truth,
});

export const session: Resource = {
  tag: 'session',
  pathParameters: { id: pathText('session_id') },
  schemas: {
    OwnSession: sessionView.schema,
    Session: json.closedObject({
      token: json.text,
      expires_in: json.count,
      user: json.ref('User'),
    }),
  },
  operations: {
    'POST /session': {
      id: 'signIn',
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
        return openedSession(api, call, user);
      },
    },
    'POST /session/password': {
      id: 'changeOwnPassword',
      summary: 'Change your own password; all other sessions end, and this one goes on with a new token',
      allow: 'users',
      withFirstPassword: true,
      body: {
        ...json.bodyOf(ownPasswordBody, { old_password: 'correct horse battery', new_password: 'staple the battery' }),
        limit: 'credentials',
      },
      answer: json.one('Session'),
      async handle(api, call) {
        const { req, caller, person } = call;
        const input = parseBody(ownPasswordBody, call.body);
        const user = await userWith(api, req, person.email, input.old_password);
        if (user === undefined) throw new ValidationError({ old_password: ['The old_password field is wrong.'] });
        const { tenant } = await changeOwnPassword(api.commands, caller, user, input);
        return openedSession(api, call, known(tenant?.users, user.id, 'user'));
      },
    },
    'GET /session': {
      id: 'getSession',
      summary: 'The user who is signed in',
      allow: 'users',
      withFirstPassword: true,
      answer: json.one('User'),
      handle: (_api, { person }) => dataReply(userView.show(person)),
    },
    'DELETE /session': {
      id: 'signOut',
      summary: 'Sign out: end the session of the token or the cookie, and clear the cookie',
      allow: 'anyone',
      ...noContent(async (api, call) => {
        await limitNetwork(api, call.req, call.res);
        await endOwnSession(api, call.req);
        call.res.clearCookie(SESSION_COOKIE, cookieOptions(call.req, api.config));
      }),
    },
    'GET /sessions': {
      id: 'listSessions',
      summary: 'Where you are signed in: your sessions, the newest first',
      allow: 'users',
      answer: json.all('OwnSession'),
      handle: async (api, call) => dataReply([...(await sessionsOf(api, call)).values()].map(sessionView.show)),
    },
    'DELETE /sessions': {
      id: 'endOtherSessions',
      summary: 'End all your sessions but this one',
      allow: 'users',
      ...noContent(async (api, call) => {
        const others = [...(await sessionsOf(api, call)).values()].filter(({ current }) => !current);
        await Promise.all(others.map((other) => endSession(api.commands, call.caller, other)));
      }),
    },
    'DELETE /sessions/:id': {
      id: 'endSession',
      summary: 'End one of your sessions',
      allow: 'users',
      ...noContent(async (api, call) => {
        const one = known(await sessionsOf(api, call), call.path.id, 'session');
        await endSession(api.commands, call.caller, one);
      }),
    },
  },
};

/** As times of events are written. @param seconds since 1970 */
const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('Z', '000Z');

/** Opens a session, and the answer with its token. */
async function openedSession(api: Api, { req, res }: Call, user: User): Promise<Reply> {
  const claims = { tenant: req.context.tenant.name, user_id: user.id, credential: credentialOf(user.passwordHash) };
  const { token, expiresIn, id } = api.tokens.issue('user', `user:${user.id}`, claims);
  res.cookie(SESSION_COOKIE, token, { ...cookieOptions(req, api.config), maxAge: expiresIn * 1000 });
  const data = {
    userId: user.id,
    sessionId: id,
    expiresAt: timeOf(Date.now() / 1000 + expiresIn),
    network: networkOfRequest(req),
    userAgent: (req.headers['user-agent'] ?? '').slice(0, MAX_STRING_LENGTH),
  };
  await noteAccess(api, req.context, { type: 'SignedIn', data });
  return dataReply({ token, expires_in: expiresIn, user: userView.show(user) });
}

/** The person's sessions as the log has them now, the newest first. One that could not be noted is not among them. */
async function sessionsOf(api: Api, { person, req }: Call): Promise<ReadonlyMap<string, OwnSession>> {
  await api.directory.refresh();
  const { sessions } = tenantOf(api.commands, req.context.tenant.name);
  const own = new Map<string, OwnSession>();
  for (const [sessionId, { opened, expiresAt }] of [...(sessions.get(person.id) ?? [])].reverse()) {
    const current = sessionId === req.context.principal?.sessionId;
    if (opened !== undefined && expiresAt > timeOf(Date.now() / 1000))
      own.set(sessionId, { userId: person.id, sessionId, expiresAt, ...opened, current });
  }
  return own;
}

/** Secure except on this machine: behind a proxy, TLS is not always visible here. */
const cookieOptions = (req: Request, config: Api['config']): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  path: '/',
  secure: req.secure || !isLoopbackHost(requestHost(req, config)),
});

/**
 * The user with this e-mail address and password; undefined if one is wrong. A thief of an open session must not be able to
 * guess the password faster than at a sign-in. @throws HttpError 429 after too many wrong ones
 */
function userWith(api: Api, req: Request, email: string, password: string): Promise<User | undefined> {
  const { tenant, deadline } = req.context;
  const account = email.toLowerCase();
  const guess = { kind: 'password', tenant: tenant.name, account, network: networkOfRequest(req) } as const;
  return withinGuesses(api, guess, 'Too many wrong passwords; try again later.', async () => {
    // Another process, such as the command line, may have added the user or changed the password.
    await api.directory.refresh();
    return checkPassword(api.directory, tenant.name, email, password, deadline);
  });
}

/** The user who signs in. @throws HttpError 401, 429 */
async function signedIn(api: Api, req: Request, email: string, password: string): Promise<User> {
  const { tenant, requestId } = req.context;
  const user = await userWith(api, req, email, password);
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
    const { user_id: userId, jti: sessionId, exp } = await openSession(api, req, text);
    await endSession(api.commands, req.context.caller(), { userId, sessionId, expiresAt: timeOf(exp) });
  } catch (error) {
    if (!(error instanceof HttpError) || error.status !== 401) throw error;
  }
}
