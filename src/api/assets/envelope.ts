/** The envelopes of lists (spec §2.2), made around records that are JSON text already. */

import type { JsonText } from '../jsonAnswer.js';
import * as json from '../openapi/schema.js';
import type { ListQuery, Paging } from './listQuery.js';

export const pageSchemas: json.Schemas = {
  PageLinks: json.closedObject({
    first: json.link,
    last: json.link,
    prev: json.orNull(json.link),
    next: json.orNull(json.link),
  }),
  PageMeta: json.closedObject({
    current_page: json.count,
    from: json.count,
    to: json.count,
    per_page: json.count,
    last_page: json.count,
    total: json.count,
  }),
};

export type PageOf = Paging & {
  /** The list's URL without its query, as the client used it. */
  readonly url: string;
  /** Parameters that links repeat. */
  readonly kept: ListQuery['kept'];
  /** Number of records on all pages. */
  readonly total: number;
};

/**
 * A page of a list.
 * @param records JSON texts, joined by commas
 */
export function collectionEnvelope(records: string | Uint8Array, list: PageOf): JsonText {
  const { page, perPage, total } = list;
  const lastPage = Math.max(1, Math.ceil(total / perPage));
  const repeated = new URLSearchParams([['perPage', String(perPage)], ...list.kept]);
  const linkTo = (at: number): string => `${list.url}?page=${at}&${repeated}`;
  const links = {
    first: linkTo(1),
    last: linkTo(lastPage),
    prev: page > 1 ? linkTo(Math.min(page - 1, lastPage)) : null,
    next: page < lastPage ? linkTo(page + 1) : null,
  };
  const before = (page - 1) * perPage;
  const empty = before >= total;
  const meta = {
    current_page: page,
    from: empty ? 0 : before + 1,
    to: empty ? 0 : Math.min(before + perPage, total),
    per_page: perPage,
    last_page: lastPage,
    total,
  };
  const rest = `],"links":${JSON.stringify(links)},"meta":${JSON.stringify(meta)}}`;
  return typeof records === 'string' ? `{"data":[${records}${rest}` : ['{"data":[', records, rest];
}
