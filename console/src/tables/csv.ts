/** Reads a CSV file (RFC 4180) in pieces, so that a large one neither fills the memory nor stops the page. */

/** `line` as a spreadsheet numbers it: the line with the names is 1. */
export type CsvRow = { readonly line: number; readonly cells: readonly string[] };
export type CsvPiece = { readonly rows: readonly CsvRow[]; readonly bytesRead: number };

/** Characters of a cell: beyond it a quotation mark was not closed. */
const MAX_CELL = 1_000_000;
const DELIMITERS = [',', ';', '\t'] as const;
export type Delimiter = (typeof DELIMITERS)[number];

/** @throws Error for a cell of more than MAX_CELL characters */
export async function* csvPieces(file: Blob): AsyncGenerator<CsvPiece & { readonly delimiter: Delimiter }> {
  const decoder = new TextDecoder(await encodingOf(file));
  let parser: CsvParser | undefined;
  let bytesRead = 0;
  for await (const bytes of piecesOf(file)) {
    bytesRead += bytes.length;
    const text = decoder.decode(bytes, { stream: true });
    parser ??= new CsvParser(delimiterOf(text));
    parser.add(text);
    yield { rows: parser.taken(), bytesRead, delimiter: parser.delimiter };
  }
  parser?.end();
  if (parser !== undefined) yield { rows: parser.taken(), bytesRead, delimiter: parser.delimiter };
}

/** Older spreadsheets do not write UTF-8. */
async function encodingOf(file: Blob): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const bytes of piecesOf(file)) decoder.decode(bytes, { stream: true });
    decoder.decode();
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}

async function* piecesOf(file: Blob): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    if (value !== undefined) yield value;
  }
}

/** The one that is most frequent in the first line: names rarely have any. */
function delimiterOf(text: string): Delimiter {
  const [first = ''] = text.split(/[\r\n]/, 1);
  const counts = DELIMITERS.map((each) => first.split(each).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** At the start of a cell, in one without quotation marks, in one with them, and behind a mark in it that may close it. */
type State = 'start' | 'plain' | 'quoted' | 'mark';

class CsvParser {
  readonly delimiter: Delimiter;
  #state: State = 'start';
  #cell = '';
  #cells: string[] = [];
  #rows: CsvRow[] = [];
  #line = 1;
  #isAfterReturn = false;

  constructor(delimiter: Delimiter) {
    this.delimiter = delimiter;
  }

  /** The rows since the last call. */
  taken(): readonly CsvRow[] {
    return this.#rows.splice(0);
  }

  add(text: string): void {
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const letter = text[at];
      const isLineFeedOfReturn = this.#isAfterReturn && letter === '\n';
      this.#isAfterReturn = letter === '\r' && this.#state !== 'quoted';
      if (this.#state === 'quoted') {
        if (letter !== '"') continue;
        this.#cell += text.slice(from, at);
        this.#state = 'mark';
        from = at + 1;
      } else if (letter === '"' && this.#state !== 'plain') {
        // Two marks within a cell stand for one.
        from = this.#state === 'mark' ? at : at + 1;
        this.#state = 'quoted';
      } else if (letter === this.delimiter || letter === '\n' || letter === '\r') {
        if (!isLineFeedOfReturn) {
          this.#endCell(text.slice(from, at));
          if (letter !== this.delimiter) this.#endRow();
        }
        from = at + 1;
      } else if (this.#state === 'start' || this.#state === 'mark') this.#state = 'plain';
    }
    this.#cell += text.slice(from);
    if (this.#cell.length > MAX_CELL) throw new Error(`Line ${this.#line}: a quotation mark is not closed.`);
  }

  end(): void {
    if (this.#cell === '' && this.#cells.length === 0) return;
    this.#endCell('');
    this.#endRow();
  }

  #endCell(rest: string): void {
    this.#cells.push(this.#cell + rest);
    this.#cell = '';
    this.#state = 'start';
  }

  #endRow(): void {
    if (this.#cells.some((cell) => cell !== '')) this.#rows.push({ line: this.#line, cells: this.#cells });
    this.#cells = [];
    this.#line += 1;
  }
}
