/** The operator's sessions: `/api/v1/operator/sessions`. A link that "dynamic-assets console" prints opens one. */
import type { Request } from 'express';
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { type Caller, ConflictError } from '../../commands/context.js';
import { useOperatorLink } from '../../commands/identity/access.js';
import { bearerToken } from '../auth/principal.js';
import type { OperatorToken } from '../auth/tokens.js';
import type { Api } from '../deps.js';
import { HttpError, invalidToken, unauthenticated } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { Principal } from '../requestContext.js';
import { type Check, dataReply, type Resource } from '../routes/operation.js';
import { networkOfRequest } from '../senderAddress.js';

const body = z.strictObject({ token: z.string('must be a string.') });

const NEW_LINK = 'Make another link: dynamic-assets console.';
const OPERATORS: Principal['permissions'] = new Set(['operators'] as const);

/** Of a token that is not accepted. @throws HttpError 401 */
async function accepted<Token>(verifying: Promise<Token>): Promise<Token> {
  try {
    return await verifying;
  } catch (error) {
    throw error instanceof HttpError ? invalidToken(`${error.reason} ${NEW_LINK}`) : error;
  }
}

/** Requires the token of an operator's session. @throws HttpError 401 */
export const authenticateOperator: Check = async ({ tokens }, { headers, context }) => {
  const text = bearerToken(headers.authorization);
  if (text === undefined) throw unauthenticated(NEW_LINK);
  const { operator } = await accepted(tokens.verify('operator', text));
  context.principal = { actor: { kind: 'operator', id: operator }, permissions: OPERATORS };
};

export const operatorSessions: Resource = {
  tag: 'session',
  schemas: {
    OperatorSession: json.closedObject({ token: json.text, expires_in: json.count, operator: json.text }),
  },
  operations: {
    'POST /sessions': {
      id: 'signIn',
      allow: 'anyone',
      body: { ...json.bodyOf(body, { token: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln' }), limit: 'credentials' },
      status: 201,
      answer: json.one('OperatorSession'),
      async handle(api, call) {
        const { token } = parseBody(body, call.body);
        const link = await accepted(api.tokens.verify('operatorLink', token));
        await spend(api, call.req, link);
        const { operator } = link;
        const session = api.tokens.issue('operator', `operator:${operator}`, { operator });
        return dataReply({ token: session.token, expires_in: session.expiresIn, operator });
      },
    },
  },
};

/** @param tenant '' for none */
export const operatorsCaller = ({ context }: Request, operator: string, tenant: string): Caller => ({
  ...context.callerAs({ kind: 'operator', id: operator }, tenant),
  deadline: context.deadline,
});

/** The log decides which process used the link first. @throws HttpError 401 */
async function spend(api: Api, req: Request, { jti: link, operator }: OperatorToken): Promise<void> {
  const network = networkOfRequest(req);
  try {
    await useOperatorLink(api.commands, operatorsCaller(req, operator, ''), link, { operator, network });
  } catch (error) {
    throw error instanceof ConflictError ? invalidToken(`The link was used before. ${NEW_LINK}`) : error;
  }
}
