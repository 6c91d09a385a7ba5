/** Signing in and out: `/api/v1/platform/session`. */
import { Router } from 'express';
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { authenticateUser as checkPassword } from '../../commands/identity/users.js';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { HttpError, methodNotAllowed } from '../errors.js';
import { jsonBodyReader } from '../jsonBody.js';
import { tooManyRequests } from '../rateLimit.js';
import { sendJson } from '../sendJson.js';
import { clearSessionCookie, setSessionCookie } from './sessionCookie.js';
import { ANY_ROLE, allow, authenticateUser, credentialOf } from './signedIn.js';
import { SignInAttempts } from './signInAttempts.js';
import { userView } from './userView.js';

/** Nobody is known yet who could send more. */
const readBody = jsonBodyReader(16_384);

export const signInBody = z.strictObject({
  email: z.string('must be a string.').max(320, 'must be at most 320 characters.'),
  password: z.string('must be a string.').max(200, 'must be at most 200 characters.'),
});

const refused = (): HttpError =>
  new HttpError(401, 'Unauthenticated.', 'The e-mail address or the password is wrong.', {
    'WWW-Authenticate': 'Bearer realm="dynamic-assets"',
  });

export function sessionRouter(deps: ApiDeps, refresh: DirectoryRefresh): Router {
  const { directory, tokens, log } = deps;
  const attempts = new SignInAttempts();
  const router = Router({ caseSensitive: true });
  router
    .route('/session')
    .post(async (req, res) => {
      const { email, password } = parseBody(signInBody, await readBody(req, res));
      const tenant = req.context.tenant.name;
      const attempt = { tenant, address: req.ip ?? '', email };
      const waitSeconds = attempts.begin(attempt);
      if (waitSeconds !== undefined)
        throw tooManyRequests('Too many sign-ins have failed; try again later.', waitSeconds);
      // Another process, such as the command line, may have added the user or changed the password.
      await refresh.run();
      const user = await checkPassword(directory, tenant, email, password);
      if (user === undefined) {
        log.warn({ tenant, address: attempt.address, requestId: req.context.requestId }, 'sign-in refused');
        throw refused();
      }
      attempts.succeeded(attempt);
      const { token, expiresIn } = tokens.issueUserToken(tenant, user.id, credentialOf(user));
      setSessionCookie(req, res, token, expiresIn);
      sendJson(res, 200, JSON.stringify({ data: { token, expires_in: expiresIn, user: userView(user) } }));
    })
    .get(
      authenticateUser(deps, refresh),
      allow(ANY_ROLE, (_req, res, user) => sendJson(res, 200, JSON.stringify({ data: userView(user) }))),
    )
    .delete((req, res) => {
      clearSessionCookie(req, res);
      res.status(204).end();
    })
    .all(methodNotAllowed('GET, HEAD, POST, DELETE'));
  return router;
}
