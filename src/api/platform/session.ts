/** Signing in and out: `/api/v1/platform/session`. */
import type { Request } from 'express';
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { credentialOf } from '../../commands/identity/secrets.js';
import { endSession } from '../../commands/identity/sessions.js';
import { authenticateUser as checkPassword } from '../../commands/identity/users.js';
import type { User } from '../../domain/identity/events.js';
import { MAX_EMAIL_LENGTH, MAX_PASSWORD_LENGTH } from '../../domain/limits.js';
import { unauthenticated } from '../auth/bearer.js';
import type { Api } from '../deps.js';
import { HttpError } from '../errors.js';
import { networkOfRequest } from '../network.js';
import * as json from '../openapi/schema.js';
import { limitNetwork, tooManyRequests, withinGuesses } from '../rateLimit.js';
import { type Call, dataReply, noContent, type Resource } from '../routes/operation.js';
import { clearSessionCookie, openSession, sessionTokenIn, setSessionCookie } from './signedIn.js';
import { userView } from './users.js';

const signInBody = z.strictObject({
  email: z.string('must be a string.').max(MAX_EMAIL_LENGTH, `must be at most ${MAX_EMAIL_LENGTH} characters.`),
  password: z
    .string('must be a string.')
    .max(MAX_PASSWORD_LENGTH, `must be at most ${MAX_PASSWORD_LENGTH} characters.`),
});

export const session: Resource = {
  tag: 'platform: session',
  schemas: {
    Session: json.closedObject({
      token: { type: 'string', description: 'To be sent as a bearer token.' },
      expires_in: { type: 'integer', description: 'Seconds.' },
      user: json.ref('User'),
    }),
  },
  operations: {
    'POST /session': {
      id: 'platform_sign_in',
      summary: 'Sign in; sets the session cookie as well',
      allow: 'anyone',
      body: {
        ...json.bodyOf(signInBody, { email: 'vera@example.com', password: 'correct horse battery' }),
        limit: 'credentials',
      },
      answer: json.one('Session'),
      errors: [401],
      async handle(api, call) {
        const { req, res, body } = call;
        await limitNetwork(api, req, res);
        const { email, password } = parseBody(signInBody, body);
        const user = await signedIn(api, req, email, password);
        const tenant = req.context.tenant.name;
        // Each may end up as an event, when it is signed out.
        const { signInsPerHour: burst } = api.config;
        const signIns = api.buckets.take(`${tenant} sign-in ${user.id}`, { perSecond: burst / 3600, burst });
        if (!signIns.isTaken)
          throw tooManyRequests('Too many sessions were opened; use one of them.', signIns.secondsToNext);
        const { token, expiresIn } = api.tokens.issueUserToken(tenant, user.id, credentialOf(user.passwordHash));
        setSessionCookie(api, call, token, expiresIn);
        return dataReply({ token, expires_in: expiresIn, user: userView.show(user) });
      },
    },
    'GET /session': {
      id: 'platform_session',
      summary: 'Who is signed in',
      allow: 'users',
      answer: json.one('User'),
      handle: (_api, { user }) => dataReply(userView.show(user)),
    },
    'DELETE /session': {
      id: 'platform_sign_out',
      summary: 'Sign out: end the session of the token or the cookie, and clear the cookie',
      allow: 'anyone',
      ...noContent(async (api, call: Call) => {
        await limitNetwork(api, call.req, call.res);
        await endOwnSession(api, call.req);
        clearSessionCookie(api, call);
      }),
    },
  },
};

/** The user with this e-mail address and password. @throws HttpError 401, and 429 after too many wrong ones */
async function signedIn(api: Api, req: Request, email: string, password: string): Promise<User> {
  const { tenant, ids, deadline } = req.context;
  const network = networkOfRequest(req);
  const guess = { kind: 'password', tenant: tenant.name, account: email.toLowerCase(), network } as const;
  const user = await withinGuesses(api, guess, 'Too many sign-ins have failed; try again later.', async () => {
    // Another process, such as the command line, may have added the user or changed the password.
    await api.refresh();
    return checkPassword(api.directory, tenant.name, email, password, deadline);
  });
  if (user !== undefined) return user;
  api.log.warn({ tenant: tenant.name, address: req.ip, ...ids }, 'sign-in refused');
  throw unauthenticated('The e-mail address or the password is wrong.');
}

/**
 * Ends the session that a request comes with; one without a good session ends none, and writes nothing. Another site
 * cannot make a browser do this: a DELETE from there needs a permission (CORS) that nobody gives.
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
