/** Switching a webhook off and on. What is for a disabled one waits, and goes out when it is enabled. */
import { z } from 'zod';
import type { DisabledCause } from '../../domain/webhook/events.js';
import type { Position } from '../../ports/eventStore.js';
import type { Caller } from '../context.js';
import type { DirectoryCommands } from '../identity/directoryWriter.js';
import { writeWebhook } from './writeWebhook.js';

export const disableWebhookBody = z.strictObject({
  reason: z
    .string('must be a string.')
    .min(1, 'must not be empty.')
    .max(255, 'must be at most 255 characters.')
    .default('Disabled by an admin.'),
});

/** One that is disabled already keeps its first cause. @throws NotFoundError */
export const disableWebhook = (
  commands: DirectoryCommands,
  caller: Caller,
  id: string,
  { cause, reason }: { readonly cause: DisabledCause; readonly reason: string },
): Promise<Position> =>
  writeWebhook(commands, caller, id, ({ disabled }) =>
    disabled === undefined ? [{ type: 'WebhookDisabled', data: { id, cause, reason } }] : [],
  );

/** Nothing is recorded for one that is enabled. @throws NotFoundError */
export const enableWebhook = (commands: DirectoryCommands, caller: Caller, id: string): Promise<Position> =>
  writeWebhook(commands, caller, id, ({ disabled }) =>
    disabled === undefined ? [] : [{ type: 'WebhookEnabled', data: { id } }],
  );
