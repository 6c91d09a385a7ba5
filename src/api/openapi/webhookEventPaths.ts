import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import { all, PLATFORM, platformOperation } from './platformOperation.js';
import { closedObject, type Paths, type Schemas } from './types.js';

export const webhookEventSchemas: Schemas = {
  WebhookEvent: closedObject({
    kind: { type: 'string', enum: WEBHOOK_EVENT_KINDS },
    version: { type: 'string', description: 'Of the body; sent as webhook-event-version.' },
    description: { type: 'string' },
    schema: { type: 'object', description: 'JSON Schema 2020-12 of the body, for the tables of the organisation.' },
    example: { type: 'object', description: 'A body; it is what a test sends.' },
  }),
};

export const webhookEventPaths: Paths = {
  [`${PLATFORM}/webhook-events`]: {
    get: platformOperation({
      id: 'list_webhook_events',
      summary: 'Kinds of events that webhooks can subscribe to',
      tag: 'webhooks',
      answer: all('WebhookEvent'),
    }),
  },
};
