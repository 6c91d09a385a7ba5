/**
 * Header fields by which a request demands something of how it is carried out. Whoever sends one relies on it, so an
 * operation that does not honour it refuses the request. A client's wishes about the answer (Accept, Accept-Encoding,
 * If-Modified-Since, Range) may go unfulfilled: the answer shows it.
 */
import type { Request } from 'express';
import { badRequest } from '../errors.js';

/** What to do instead, by the field's name in lower case. */
const INSTEAD = {
  'if-match': 'PUT of a record or an order honours it.',
  'if-none-match': 'GET honours it.',
  'if-unmodified-since': 'Send If-Match with the ETag of the record.',
  'content-range': 'A body is whole; PUT changes the fields that it names.',
  prefer: 'What can be chosen is in the query of the operation.',
  'idempotency-key': 'POST of a record, a batch, a clean-up or an approval honours it; send this without.',
  'x-idempotency-key': 'The name of the field is Idempotency-Key.',
  'x-http-method-override': 'Send the method itself.',
  'x-http-method': 'Send the method itself.',
  'x-method-override': 'Send the method itself.',
} as const;

export type RefusableHeader = keyof typeof INSTEAD;

const NAMES = Object.keys(INSTEAD) as readonly RefusableHeader[];

/** Of any GET: its answer is the same whether or not they are honoured, or shows it. */
const FOR_READS: readonly RefusableHeader[] = ['if-none-match', 'prefer'];

/** Makes the check of an operation. It throws HttpError 400 for a field that is not honoured there. */
export function refusedHeadersCheck(method: string, honoured: readonly RefusableHeader[]): (req: Request) => void {
  const fine = method === 'GET' ? [...honoured, ...FOR_READS] : honoured;
  const refused = NAMES.filter((name) => !fine.includes(name));
  return ({ headers }) => {
    const name = refused.find((each) => headers[each] !== undefined);
    if (name !== undefined) throw badRequest(`${method} does not honour ${name} here. ${INSTEAD[name]}`);
  };
}
