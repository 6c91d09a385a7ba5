/** The settings as a table: for `start --help`, `config` and the README. */
import { z } from 'zod';
import { SECRET_SETTINGS, settings } from '../config.js';

export type SettingRow = {
  readonly name: string;
  /** As one would write it into the environment; '' where there is none. */
  readonly defaultText: string;
  readonly meaning: string;
};

/** The default as it is written, before it is turned into the value in use. */
function defaultText(schema: unknown): string {
  if (schema instanceof z.ZodDefault) return String(schema.def.defaultValue);
  if (schema instanceof z.ZodPipe) return defaultText(schema.def.in);
  return '';
}

export const settingRows: readonly SettingRow[] = Object.entries(settings).map(([name, schema]) => ({
  name,
  defaultText: defaultText(schema),
  meaning: schema.description ?? '',
}));

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** The table of the README. */
export function settingsMarkdown(): string {
  const rows = settingRows.map(({ name, defaultText: text, meaning }) => {
    // Outside of code, Markdown takes <tenant> for a tag.
    return `| \`${name}\` | ${code(text)} | ${meaning.replaceAll('<', '&lt;')} |`;
  });
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}

/** Lines for a terminal: name and default, the meaning below. */
export function settingsHelp(): string {
  const lines = settingRows.flatMap(({ name, defaultText: text, meaning }) => [
    `  ${name}${text === '' ? '' : ` (default ${text})`}`,
    `      ${meaning}`,
  ]);
  return ['Environment variables (also read from a file .env in the working directory):', ...lines].join('\n');
}

/** A setting's value as it may be shown: keys hidden, and passwords inside URLs. */
export function shownValue(name: string, value: string | undefined): string {
  if (value === undefined || value === '') return '';
  if (SECRET_SETTINGS.includes(name)) return '********';
  return value.replace(/(:\/\/[^/@:]*):[^@/]*@/, '$1:********@');
}
