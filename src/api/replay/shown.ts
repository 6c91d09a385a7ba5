/** A step of a replay as the API shows it, as far as people are shown it by the command line and in exports. */
import { z } from 'zod';
import type { FieldChange } from '../../domain/order/differences.js';

const attempt = z.object({
  attempt: z.number(),
  url: z.string(),
  body_sha256: z.string().nullable(),
  started_at: z.string(),
  duration_ms: z.number().nullable(),
  status: z.number().nullable(),
  reason: z.string().nullable(),
  response_body: z.string().nullable(),
});

const delivery = z.object({
  id: z.string(),
  webhook_id: z.string(),
  webhook_name: z.string().nullable(),
  kind: z.string(),
  purpose: z.string().nullable(),
  state: z.string(),
  reason: z.string().nullable(),
  retry_at: z.string().nullable(),
  attempts: z.array(attempt),
});

/** Without the changes, which may be many. */
export const shownHead = z.object({
  id: z.string(),
  event: z.string(),
  occurred_at: z.string(),
  actor: z.object({ kind: z.string(), id: z.string(), name: z.string().nullable() }),
  status_from: z.string().nullable(),
  status_to: z.string(),
  reasons: z.array(z.string()),
  warnings: z.array(z.object({ message: z.string() })),
  position: z.number(),
  revision: z.number(),
  is_continued: z.boolean(),
  is_report: z.boolean(),
  problems_by: z.string(),
  problems: z.array(z.object({ field: z.string(), message: z.string() })),
  deliveries: z.array(delivery),
});

export type ShownStep = z.output<typeof shownHead> & { readonly changes: readonly FieldChange[] };
export type ShownDelivery = z.output<typeof delivery>;
export type ShownAttempt = z.output<typeof attempt>;

/** Text of others on one line, without control characters, and without characters that change the direction of others. */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** A value of a field as JSON. */
export const visibleValue = (value: unknown): string => visible(JSON.stringify(value ?? null));
