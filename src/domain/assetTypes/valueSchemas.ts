/** The zod schema of a time in a body or query. Apart from fieldTypes.ts, since threads that only store values do not load zod. */
import { z } from 'zod';
import { FIELD_RULES, Refusal, readDateTime } from './fieldTypes.js';

/** As a DateTime field takes it. Becomes UTC with six digits. */
export const dateTime = z
  .string('must be a string.')
  .meta(FIELD_RULES.DateTime.input)
  .transform((value, context): string => {
    const time = readDateTime(value);
    if (!(time instanceof Refusal)) return time;
    context.addIssue({ code: 'custom', message: time.message });
    return z.NEVER;
  });
