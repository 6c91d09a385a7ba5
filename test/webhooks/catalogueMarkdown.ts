import type { CatalogueEntry } from '#app/domain/webhook/catalogue/catalogue.js';

/** The generated part of docs/webhook-events.md: each kind with its version, when it is sent, and an example. */
export const catalogueMarkdown = (entries: readonly CatalogueEntry[]): string =>
  entries
    .map(({ kind, version, description, example }) =>
      [
        `### ${kind}`,
        `Version ${version}. ${description}`,
        '<details><summary>Example</summary>',
        `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
        '</details>',
      ].join('\n\n'),
    )
    .join('\n\n');
