/** Signing in and out: `/api/v1/platform/session`. */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { authenticateUser as checkPassword } from '../../commands/identity/users.js';
import { MAX_EMAIL_LENGTH, MAX_PASSWORD_LENGTH } from '../../domain/limits.js';
import { unauthenticated } from '../auth/bearer.js';
import * as json from '../openapi/schema.js';
import { tooManyRequests } from '../rateLimit.js';
import { type Call, dataReply, noContent, type Resource } from '../routes/operation.js';
import { clearSessionCookie, credentialOf, setSessionCookie } from './signedIn.js';
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
        const { directory, tokens, log, refresh, signInAttempts } = api;
        const { req, body } = call;
        const { email, password } = parseBody(signInBody, body);
        const { tenant, ids } = req.context;
        const attempt = { tenant: tenant.name, address: req.ip ?? '', email };
        const waitSeconds = signInAttempts.begin(attempt);
        if (waitSeconds !== undefined) {
          throw tooManyRequests('Too many sign-ins have failed; try again later.', waitSeconds);
        }
        // Another process, such as the command line, may have added the user or changed the password.
        await refresh();
        const user = await checkPassword(directory, tenant.name, email, password);
        if (user === undefined) {
          log.warn({ tenant: tenant.name, address: attempt.address, ...ids }, 'sign-in refused');
          throw unauthenticated('The e-mail address or the password is wrong.');
        }
        signInAttempts.succeeded(attempt);
        const { token, expiresIn } = tokens.issueUserToken(tenant.name, user.id, credentialOf(user));
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
      summary: 'Clear the session cookie',
      allow: 'anyone',
      ...noContent((api, call: Call) => clearSessionCookie(api, call)),
    },
  },
};
