/** Webhooks and their signing secrets: `/api/v1/platform/webhooks`. */

import { changeWebhookBody, disableWebhookBody, webhookBody } from '../../commands/webhooks/settings.js';
import { inputSchema } from './inputSchema.js';
import {
  all,
  type Description,
  NO_CONTENT,
  one,
  platformOperation as operation,
  PLATFORM,
  pathText,
} from './platformOperation.js';
import type { Paths } from './types.js';

const WEBHOOKS = `${PLATFORM}/webhooks`;
const WEBHOOK = `${WEBHOOKS}/{webhook_id}`;
const parameters = [pathText('webhook_id')];

const NEW_WEBHOOK = { url: 'https://erp.example.com/orders', events: ['order.approved'], custom_data: { company: 7 } };
const CHANGE = { events: ['order.approved', 'order.status_changed'] };

const ofWebhooks = (description: Omit<Description, 'tag'>) => operation({ ...description, tag: 'webhooks' });

export const webhookPaths: Paths = {
  [WEBHOOKS]: {
    get: ofWebhooks({ id: 'list_webhooks', summary: 'Webhooks', answer: all('Webhook') }),
    post: ofWebhooks({
      id: 'create_webhook',
      summary: 'Create a webhook',
      body: { schema: inputSchema(webhookBody), example: NEW_WEBHOOK },
      status: 201,
      answer: one('WebhookWithSecret'),
    }),
  },
  [WEBHOOK]: {
    parameters,
    get: ofWebhooks({ id: 'get_webhook', summary: 'One webhook', answer: one('Webhook') }),
    put: ofWebhooks({
      id: 'change_webhook',
      summary: 'Change a webhook; what the body does not name stays',
      body: { schema: inputSchema(changeWebhookBody), example: CHANGE },
      answer: one('Webhook'),
    }),
    delete: ofWebhooks({ id: 'remove_webhook', summary: 'Remove a webhook', status: 204, answer: NO_CONTENT }),
  },
  [`${WEBHOOK}/enable`]: {
    parameters,
    post: ofWebhooks({
      id: 'enable_webhook',
      summary: 'Send to it again, what waited for it first',
      answer: one('Webhook'),
    }),
  },
  [`${WEBHOOK}/disable`]: {
    parameters,
    post: ofWebhooks({
      id: 'disable_webhook',
      summary: 'Send nothing to it until it is enabled; what is for it waits',
      body: { schema: inputSchema(disableWebhookBody), example: { reason: 'Moving to a new host.' }, optional: true },
      answer: one('Webhook'),
    }),
  },
  [`${WEBHOOK}/secret`]: {
    parameters,
    post: ofWebhooks({
      id: 'regenerate_webhook_secret',
      summary: 'A new signing secret; the old one signs nothing any more',
      answer: one('WebhookWithSecret'),
    }),
  },
  [`${WEBHOOK}/secret/rotate`]: {
    parameters,
    post: ofWebhooks({
      id: 'stage_webhook_secret',
      summary: 'Begin a rotation: a new secret signs beside the old one in webhook-signature',
      status: 201,
      answer: one('WebhookWithSecret'),
      errors: [409],
    }),
  },
  [`${WEBHOOK}/secret/promote`]: {
    parameters,
    post: ofWebhooks({
      id: 'promote_webhook_secret',
      summary: 'End a rotation: the new secret is the only one',
      answer: one('Webhook'),
      errors: [409],
    }),
  },
  [`${WEBHOOK}/secret/staged`]: {
    parameters,
    delete: ofWebhooks({
      id: 'unstage_webhook_secret',
      summary: 'End a rotation: the old secret is the only one',
      status: 204,
      answer: NO_CONTENT,
      errors: [409],
    }),
  },
};
