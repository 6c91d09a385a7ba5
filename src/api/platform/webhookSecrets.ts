/** Signing secrets of a webhook: `/api/v1/platform/webhooks/:id/secret`. A secret is shown once, when it is made. */
import {
  promoteWebhookSecret,
  regenerateWebhookSecret,
  stageWebhookSecret,
  unstageWebhookSecret,
} from '../../commands/webhooks/secrets.js';
import * as json from '../openapi/schema.js';
import type { Resource } from '../routes/operation.js';
import { WEBHOOK_IDS, webhookReply } from './webhookView.js';

export const webhookSecrets: Resource = {
  tag: 'platform: webhooks',
  pathParameters: WEBHOOK_IDS,
  operations: {
    'POST /webhooks/:id/secret': {
      id: 'platform_regenerate_webhook_secret',
      summary: 'A new signing secret; the old one signs nothing any more',
      allow: 'admins',
      answer: json.one('WebhookWithSecret'),
      handle: async (api, { caller, path: { id } }) =>
        webhookReply(api, caller, id, await regenerateWebhookSecret(api.commands, caller, id)),
    },
    'POST /webhooks/:id/secret/rotate': {
      id: 'platform_stage_webhook_secret',
      summary: 'Begin a rotation: a new secret signs beside the old one in webhook-signature',
      allow: 'admins',
      status: 201,
      answer: json.one('WebhookWithSecret'),
      errors: [409],
      handle: async (api, { caller, path: { id } }) =>
        webhookReply(api, caller, id, await stageWebhookSecret(api.commands, caller, id)),
    },
    'POST /webhooks/:id/secret/promote': {
      id: 'platform_promote_webhook_secret',
      summary: 'End a rotation: the new secret is the only one',
      allow: 'admins',
      answer: json.one('Webhook'),
      errors: [409],
      async handle(api, { caller, path: { id } }) {
        await promoteWebhookSecret(api.commands, caller, id);
        return webhookReply(api, caller, id);
      },
    },
    'DELETE /webhooks/:id/secret/staged': {
      id: 'platform_unstage_webhook_secret',
      summary: 'End a rotation: the old secret is the only one',
      allow: 'admins',
      status: 204,
      answer: json.NO_CONTENT,
      errors: [409],
      async handle({ commands }, { caller, path: { id } }) {
        await unstageWebhookSecret(commands, caller, id);
        return {};
      },
    },
  },
};
