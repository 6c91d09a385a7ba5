/**
 * Refuses header fields that an operation does not honour, if they demand something of how it is carried out: the
 * client relies on that. Wishes about the answer (Accept, Accept-Encoding, If-Modified-Since, Range) may be ignored,
 * since the answer shows it.
 */
import type { Request } from 'express';
import { badRequest } from '../errors.js';

/** Advice for the client, by field name in lower case. */
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

/** Harmless on any GET: the answer is the same, or shows whether they were honoured. */
const FOR_READS: readonly RefusableHeader[] = ['if-none-match', 'prefer'];

/** Makes a check that throws HttpError 400 for a field that the operation does not honour. */
export function refusedHeadersCheck(method: string, honoured: readonly RefusableHeader[]): (req: Request) => void {
  const fine = method === 'GET' ? [...honoured, ...FOR_READS] : honoured;
  const refused = NAMES.filter((name) => !fine.includes(name));
  return ({ headers }) => {
    const name = refused.find((each) => headers[each] !== undefined);
    if (name !== undefined) throw badRequest(`${method} does not honour ${name} here. ${INSTEAD[name]}`);
  };
}
