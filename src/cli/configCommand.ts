import { Command } from 'commander';
import { readConfig } from '../config.js';
import { printJson, printLines } from './output.js';
import { settingRows, shownValue } from './settingsTable.js';

export function configCommand(): Command {
  return new Command('config')
    .description('Show every setting: value in use, default, meaning. Checks them as well.')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ dynamic-assets config')
    .action(show);
}

function show(options: { readonly json?: true }): void {
  const rows = settingRows.map(({ name, defaultText, meaning }) => {
    const given = process.env[name] === '' ? undefined : process.env[name];
    const source = given === undefined ? 'default' : 'environment';
    return { name, value: shownValue(name, given ?? defaultText), source, default: defaultText, meaning };
  });
  if (options.json) printJson(rows);
  else {
    const lines = rows.flatMap((row) => {
      const origin = row.source === 'default' ? 'default' : `default: ${row.default === '' ? 'unset' : row.default}`;
      return [`${row.name}=${row.value}  (${origin})`, `    ${row.meaning}`];
    });
    printLines(...lines);
  }
  readConfig(process.env);
}
