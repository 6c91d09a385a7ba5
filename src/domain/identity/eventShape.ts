/**
 * Checks that directory events have the data that the service relies on. Missing data would otherwise fail later, in work
 * for all tenants; here it fails at once, and affects only its own tenant.
 */
import type { DirectoryEvent } from './events.js';

const isText = (value: unknown): boolean => typeof value === 'string';
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** @throws Error */
export function checkShape(event: DirectoryEvent): void {
  if (!isWhole(event)) throw new Error(`The event ${event.type} does not say what it is about.`);
}

function isWhole({ type, data }: DirectoryEvent): boolean {
  switch (type) {
    case 'CleanUpGuardChanged':
      return (data.maxPercent === null || Number.isFinite(data.maxPercent)) && Number.isFinite(data.minRecords ?? 0);
    case 'UserAdded':
      return Number.isSafeInteger(data.id) && isText(data.email);
    case 'ApiClientCreated':
      return isText(data.clientId) && isText(data.secretHash) && areTexts(data.scopes);
    case 'ApiClientSecretStaged':
      return isText(data.clientId) && isText(data.secretHash);
    case 'WebhookCreated':
      return isText(data.id) && isText(data.url) && areTexts(data.events) && isText(data.sealedSecret);
    case 'WebhookChanged':
      return data.events === undefined || areTexts(data.events);
    default:
      return true;
  }
}
