/** Warnings of an approval and of a submitted order: a webhook may get an export twice, or nothing is sent. */
import { warningText } from '../domain/order/approval.js';
import type { ExportWarning, Repeat } from '../domain/order/events.js';
import * as json from './openapi/schema.js';

const CODES = ['may_be_duplicate', 'no_webhook', 'webhook_disabled'] as const;

type Shown = {
  readonly code: (typeof CODES)[number];
  readonly webhookId?: string;
  readonly deliveryId?: string;
  readonly message: string;
};

export const exportWarning = json.view<Shown>({
  code: [json.oneOf(CODES), ({ code }) => code],
  webhook_id: [json.orNull(json.uuid), ({ webhookId = null }) => webhookId],
  delivery_id: [
    { ...json.orNull(json.uuid), description: 'Of may_be_duplicate: the latest earlier export that may have arrived.' },
    ({ deliveryId = null }) => deliveryId,
  ],
  message: [json.text, ({ message }) => message],
});

export type Warned = { readonly repeats?: readonly Repeat[]; readonly warnings?: readonly ExportWarning[] };

const MAY_BE_DUPLICATE =
  'The webhook may have an earlier export of this order. The webhook-id of the new one names it.';

export const shownWarnings = ({ repeats = [], warnings: said = [] }: Warned): readonly object[] => [
  ...repeats.map((repeat) => exportWarning.show({ code: 'may_be_duplicate', ...repeat, message: MAY_BE_DUPLICATE })),
  ...said.map((warning) => exportWarning.show({ ...warning, message: warningText(warning) })),
];

/** The `warnings` member of an answer; absent if there are none. */
export function warningsOf(warned: Warned): { readonly warnings?: readonly object[] } {
  const shown = shownWarnings(warned);
  return shown.length === 0 ? {} : { warnings: shown };
}

export const warnings: json.JsonSchema = json.listOf(json.ref('ExportWarning'));
