/** Changes of one webhook: decided on as its stream has it. */
import type { Webhook } from '../../domain/identity/directory.js';
import { webhooksStream } from '../../domain/streams.js';
import type { WebhookEvent } from '../../domain/webhook/events.js';
import type { Position } from '../../ports/eventStore.js';
import { type Caller, NotFoundError } from '../context.js';
import { type DirectoryCommands, writeDirectory } from '../identity/directoryWriter.js';

/**
 * @param decide pure; throws to refuse; no events where nothing is to change
 * @returns position of the last event; 0 when there is none
 * @throws NotFoundError
 */
export function writeWebhook(
  commands: DirectoryCommands,
  caller: Caller,
  id: string,
  decide: (webhook: Webhook) => readonly WebhookEvent[],
): Promise<Position> {
  return writeDirectory(commands, caller, webhooksStream(caller.tenant), (tenant) => {
    const webhook = tenant?.webhooks.get(id);
    if (webhook === undefined) throw new NotFoundError(`There is no webhook ${id}.`);
    return decide(webhook);
  });
}
