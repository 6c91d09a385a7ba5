/** The command `config`, and the settings as rows for `start --help` and the README. */
import { Command } from 'commander';
import { z } from 'zod';
import { readConfig, SECRET_SETTINGS, settings } from '../config.js';
import { type JsonOption, printResult, withJson } from './output.js';

/** `defaultText` is written as in the environment; '' if there is none. */
export const settingRows = Object.entries(settings).map(([name, schema]) => ({
  name,
  defaultText: defaultText(schema),
  meaning: schema.description ?? '',
}));

/** The default before it is transformed. */
function defaultText(schema: unknown): string {
  if (schema instanceof z.ZodDefault) return String(schema.def.defaultValue);
  if (schema instanceof z.ZodPipe) return defaultText(schema.def.in);
  return '';
}

export function configCommand(): Command {
  const definition = new Command('config').description(
    'Show every setting with its value in use, default and meaning, and check them.',
  );
  return withJson(definition, 'dynamic-assets config').action(show);
}

function show(options: JsonOption): void {
  const rows = settingRows.map(({ name, defaultText: standard, meaning }) => {
    const given = process.env[name] === '' ? undefined : process.env[name];
    const source = given === undefined ? 'default' : 'environment';
    return { name, value: shownValue(name, given ?? standard), source, default: standard, meaning };
  });
  const lines = rows.flatMap((row) => {
    const origin = row.source === 'default' ? 'default' : `default: ${row.default === '' ? 'unset' : row.default}`;
    return [`${row.name}=${row.value}  (${origin})`, `    ${row.meaning}`];
  });
  printResult(options, rows, lines);
  readConfig(process.env);
}

/** A setting's value without keys and passwords. */
function shownValue(name: string, value: string): string {
  if (value === '') return '';
  if (SECRET_SETTINGS.includes(name)) return '********';
  return value.replace(/^([^:/]*:\/\/[^/@:]*):[^@/]*@/, '$1:********@');
}

/** For a terminal: name and default, then the meaning. */
export function settingsHelp(): string {
  const lines = settingRows.flatMap(({ name, defaultText: text, meaning }) => [
    `  ${name}${text === '' ? '' : ` (default ${text})`}`,
    `      ${meaning}`,
  ]);
  return ['Environment variables (also read from a file .env in the working directory):', ...lines].join('\n');
}
