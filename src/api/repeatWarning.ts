/** What an approval warns of: a webhook may get an order that it has. */
import type { Repeat } from '../domain/order/events.js';
import * as json from './openapi/schema.js';

export const repeatWarning = json.view<Repeat>({
  code: [json.oneOf(['may_be_duplicate']), () => 'may_be_duplicate'],
  webhook_id: [json.uuid, ({ webhookId }) => webhookId],
  delivery_id: [
    { ...json.uuid, description: 'The latest earlier export that may have arrived.' },
    ({ deliveryId }) => deliveryId,
  ],
  message: [
    json.text,
    () => 'The webhook may have an earlier export of this order. The webhook-id of the new one names it.',
  ],
});

/** Beside what else is answered; nothing where there is nothing to warn of. */
export const warningsOf = (repeats: readonly Repeat[]) =>
  repeats.length === 0 ? {} : { warnings: repeats.map(repeatWarning.show) };

export const warnings: json.JsonSchema = json.listOf(json.ref('RepeatWarning'));
