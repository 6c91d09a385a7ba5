/** Targets that a webhook may have, as far as the URL itself shows (spec §6.2). */
import { MAX_URL_LENGTH } from '../limits.js';

/** What is wrong with the URL, to follow "The url field"; undefined when nothing is. */
export function targetUrlError(text: string): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `must be at most ${MAX_URL_LENGTH} characters.`;
  if (!URL.canParse(text)) return 'must be a URL, like https://erp.example.com/orders.';
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'must be an HTTPS URL.';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials.';
  return undefined;
}
