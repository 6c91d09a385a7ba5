/** The command `config`, and the settings for `start --help`. */
import { Command } from 'commander';
import { readConfig, settingRows, settingsInUse } from '../config.js';
import { type JsonOption, printResult, withJson } from './output.js';

export function configCommand(): Command {
  const definition = new Command('config').description(
    'Show every setting with its value in use, default and meaning, and check them.',
  );
  return withJson(definition, 'dynamic-assets config').action(show);
}

function show(options: JsonOption): void {
  const rows = settingsInUse(process.env);
  const lines = rows.flatMap((row) => {
    const origin = row.source === 'default' ? 'default' : `default: ${row.default === '' ? 'unset' : row.default}`;
    return [`${row.name}=${row.value}  (${origin})`, `    ${row.meaning}`];
  });
  printResult(options, rows, lines);
  readConfig(process.env);
}

/** For a terminal: name and default, then the meaning. */
export function settingsHelp(): string {
  const lines = settingRows.flatMap(({ name, defaultText: text, meaning }) => [
    `  ${name}${text === '' ? '' : ` (default ${text})`}`,
    `      ${meaning}`,
  ]);
  return ['Environment variables (also read from a file .env in the working directory):', ...lines].join('\n');
}
