import type { CatalogueEntry } from '#app/domain/webhook/catalogue.js';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of a body that are not those of another body of the same shape. */
function differences(body: Json, other: Json): Json {
  const differs = Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
    const known = other[name];
    if (JSON.stringify(value) === JSON.stringify(known)) return [];
    return [[name, isObject(value) && isObject(known) ? differences(value, known) : value]];
  });
  return Object.fromEntries(differs);
}

/** The order's body that is printed whole: the others have the same members. */
const WHOLE = 'order.approved';

/**
 * The generated part of docs/webhook-events.md: each kind with its version, when it is sent, and an example. Of the
 * examples of orders one is whole, so that a reader need not look for differences between five long ones.
 */
export function catalogueMarkdown(entries: readonly CatalogueEntry[]): string {
  const whole = entries.find(({ kind }) => kind === WHOLE)?.example;
  return entries
    .map(({ kind, version, description, example }) => {
      const isShort = isObject(whole) && isObject(example) && kind.startsWith('order.') && kind !== WHOLE;
      return [
        `### ${kind}`,
        `Version ${version}. ${description}`,
        `<details><summary>Example${isShort ? `: that of ${WHOLE}, but with` : ''}</summary>`,
        `\`\`\`json\n${JSON.stringify(isShort ? differences(example, whole) : example, null, 2)}\n\`\`\``,
        '</details>',
      ].join('\n\n');
    })
    .join('\n\n');
}
