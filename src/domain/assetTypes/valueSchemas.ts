/** The zod schemas of times in bodies and queries. Apart from fieldTypes.ts, since threads that only store values do not load zod. */
import { z } from 'zod';
import { DATE_TIME, FIELD_RULES, namesZone, Refusal, readDateTime } from './fieldTypes.js';

const NO_ZONE = 'must be a time with its zone, such as 2026-11-21T03:11:47Z.';

const read = (value: string, context: z.RefinementCtx): string => {
  const time = readDateTime(value);
  if (!(time instanceof Refusal)) return time;
  context.addIssue({ code: 'custom', message: time.message });
  return z.NEVER;
};

/** As a DateTime field takes it. Becomes UTC with six digits. */
export const dateTime = z.string('must be a string.').meta(FIELD_RULES.DateTime.input).transform(read);

/** The same, but its zone is required. */
export const zonedDateTime = z
  .string(NO_ZONE)
  .meta({ pattern: DATE_TIME.source, description: 'ISO 8601 or RFC 3339, with its zone.' })
  .refine(namesZone, { error: NO_ZONE, abort: true })
  .transform(read);
