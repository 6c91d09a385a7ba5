/**
 * No regular expression of the sources takes longer than in proportion to the text it is run on: a few kilobytes from
 * outside must not hold up the service. What cannot be written so is scanned by hand, or by a library that does.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from '@swc/core';
import { isSafePattern } from 'redos-detector';

const SOURCES = resolve(__dirname, '../../src');

type Literal = { readonly pattern: string; readonly flags: string };

/** The check itself is limited by its steps, not by time: a busy machine finds the same. */
const isSafe = ({ pattern, flags }: Literal): boolean =>
  isSafePattern(pattern, {
    caseInsensitive: flags.includes('i'),
    dotAll: flags.includes('s'),
    multiLine: flags.includes('m'),
    unicode: flags.includes('u'),
  }).safe;

/** The nodes of a syntax tree, itself among them. */
function* nodesIn(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return;
  yield value;
  for (const child of Object.values(value)) yield* nodesIn(child);
}

const isLiteral = (node: object): node is Literal => 'type' in node && node.type === 'RegExpLiteral';
const isConstructor = (node: object): boolean =>
  'type' in node && node.type === 'Identifier' && 'value' in node && node.value === 'RegExp';

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const trees = files.map((file) => {
  const tree = parseSync(readFileSync(join(SOURCES, file), 'utf8'), { syntax: 'typescript' });
  return [file, [...nodesIn(tree)]] as const;
});

test.each<Literal>([
  { pattern: '^(a+)+$', flags: '' },
  { pattern: '"(?:[^"\\\\]|\\\\.)*"', flags: 'g' },
  { pattern: '^0+|0+$', flags: 'g' },
  { pattern: '^x\\s*(?:;\\s*y)?;?\\s*$', flags: 'i' },
])('the check finds %j', (literal) => {
  expect(isSafe(literal)).toBe(false);
});

test('every regular expression of the sources is linear', () => {
  const unsafe = trees.flatMap(([file, nodes]) =>
    nodes
      .filter(isLiteral)
      .filter((literal) => !isSafe(literal))
      .map(({ pattern }) => `${file}: /${pattern}/`),
  );
  expect(unsafe).toEqual([]);
});

test('no regular expression is made of text while the service runs', () => {
  expect(trees.filter(([, nodes]) => nodes.some(isConstructor)).map(([file]) => file)).toEqual([]);
});
