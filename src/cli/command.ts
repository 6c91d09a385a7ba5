/** The command line as a table: what a command is, how its options are parsed, and how its result is shown. */
import { Command as Definition, Option as OptionDefinition } from 'commander';
import { commaSeparated } from '../config.js';
import type { JobProgress } from '../projections/jobs.js';
import { EXIT_FAILURE } from './errors.js';

/** An option `--like-this <value>`, whose key in the table is `likeThis`. */
export type Option<Value> = {
  /** `<value>` as the help shows it; empty for a switch. */
  readonly value: string;
  readonly meaning: string;
  readonly isRequired?: boolean;
  readonly choices?: readonly string[];
  /** @throws InvalidArgumentError */
  parse(text: string): Value;
};

type Options = { readonly [name: string]: Option<unknown> };
type OptionValues<Of extends Options> = {
  readonly [name in keyof Of]: Of[name] extends Option<infer Value> ? Value : never;
};

type Spec<Of extends Options, Result> = {
  /** With the name of its group: `tenant create`. */
  readonly name: string;
  readonly about: string;
  /** As typed, with settings before the command. */
  readonly example: string;
  readonly argument?: readonly [name: string, meaning: string];
  readonly options?: Of;
  /** More help. */
  readonly notes?: string;
  /** @returns what `--json` prints */
  run(given: OptionValues<Of>, argument: string): Promise<Result> | Result;
  /** The result for people; if unset, nothing is printed. */
  lines?(result: Result, given: OptionValues<Of>, argument: string): readonly string[];
  /** Once the result is shown. */
  after?(): void;
};

export type Command = { readonly name: string; readonly definition: Definition };

export function command<Result, Of extends Options = object & Options>(spec: Spec<Of, Result>): Command {
  const { name, about, example, argument, options = {}, notes = '', run, lines, after } = spec;
  const definition = new Definition(name.split(' ').at(-1)).description(about);
  if (argument !== undefined) definition.argument(...argument);
  for (const [key, option] of Object.entries<Option<unknown>>(options)) definition.addOption(definitionOf(key, option));
  if (lines !== undefined) definition.option('--json', 'print one line of JSON');
  definition.addHelpText('after', `${notes}\nExample:\n  $ ${example}`);
  definition.action(async () => {
    const { json, ...given } = definition.opts<OptionValues<Of> & { readonly json?: true }>();
    const values: OptionValues<Of> = Object.assign(given);
    const first = definition.args[0] ?? '';
    const result = await (async () => run(values, first))().finally(() => showLine(''));
    if (lines !== undefined) printLines(...(json ? [JSON.stringify(result)] : lines(result, values, first)));
    after?.();
    // The result says what is not as it should be.
    if (Object(result).ok === false) process.exitCode = EXIT_FAILURE;
  });
  return { name, definition };
}

function definitionOf(key: string, option: Option<unknown>): OptionDefinition {
  const flag = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const definition = new OptionDefinition(`${flag} ${option.value}`.trimEnd(), option.meaning);
  if (option.choices !== undefined) definition.choices(option.choices);
  else if (option.value !== '') definition.argParser((text) => option.parse(text));
  return definition.makeOptionMandatory(option.isRequired === true);
}

export const text = (value: string, meaning: string): Option<string | undefined> => parsed(value, meaning, String);

export const parsed = <Value>(
  value: string,
  meaning: string,
  parse: (text: string) => Value,
): Option<Value | undefined> => ({
  value,
  meaning,
  parse,
});

export const required = (value: string, meaning: string): Option<string> => ({
  value,
  meaning,
  isRequired: true,
  parse: (given) => given,
});

export const oneOf = (choices: readonly string[], value: string, meaning: string): Option<string> => ({
  ...required(value, meaning),
  choices,
});

export const list = (meaning: string): Option<string[] | undefined> => parsed('<list>', meaning, commaSeparated);

export const flag = (meaning: string): Option<true | undefined> => ({ value: '', meaning, parse: () => true });

export function printLines(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** A line that changes, where people see standard error. @param tenantsDone before this one */
export function showProgress({ tenant, tenants, done, of }: JobProgress, tenantsDone = 0): void {
  const percent = Math.floor((100 * done) / Math.max(done, of, 1));
  const all = tenants > 1 ? `, ${tenantsDone} of ${tenants} tenants done` : '';
  showLine(`${tenant ?? 'event log'}: ${percent} %${all}`);
}

/** The next one takes its place. */
function showLine(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\u001B[K${line}\r`);
}

/** Pads all columns but the last to their widest cell. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
