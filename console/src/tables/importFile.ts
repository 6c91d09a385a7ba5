/** What an import does: rows of a file as batches, first as a dry run, then in a sync session. The service has the rules. */
import { ApiError, type AssetField, api, bodyOf, type Schemas } from '../api/client';
import { csvPieces, type Delimiter } from './csv';

type Difference = Schemas['Difference'];
type Item = { readonly [field: string]: unknown };
type Row = { readonly line: number; readonly item: Item };

export type Source = {
  readonly file: File;
  readonly table: string;
  /** Of each column; undefined: the column is left out. */
  readonly fields: readonly (AssetField | undefined)[];
  readonly uniqueField: string;
};

export type Refused = {
  readonly line: number;
  readonly messages: readonly string[];
  /** An earlier line with the same key. */
  readonly sameKeyAs?: number;
};

export type Checked = {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** The first of them. */
  readonly differences: readonly Difference[];
  readonly refused: readonly Refused[];
};

type Work = {
  /** Given the share of the file that is done, 0 to 1. */
  readonly onProgress: (done: number) => void;
  readonly signal: AbortSignal;
};

/** Items and characters of a batch: the service takes 1,000 items. */
const MAX_ITEMS = 1_000;
const MAX_CHARACTERS = 1_000_000;
const MAX_DIFFERENCES = 100;
/** Refused rows after which the check ends: something is wrong with the file as a whole. */
export const MAX_REFUSED = 1_000;
/** Lines that are shown to match columns with fields. */
const MAX_BEGINNING = 4;
/** How often a request is sent that may pass by itself. */
const MAX_ATTEMPTS = 8;

/** The first lines, to match columns with fields. */
export async function beginningOf(file: File): Promise<readonly (readonly string[])[]> {
  const lines: (readonly string[])[] = [];
  for await (const { rows } of csvPieces(file)) {
    lines.push(...rows.slice(0, MAX_BEGINNING).map(({ cells }) => cells));
    if (lines.length >= MAX_BEGINNING) break;
  }
  return lines;
}

/** Sends all rows as dry runs. Rows that are refused are taken out of their batch, and the rest is checked again. */
export async function checkFile(source: Source, { onProgress, signal }: Work): Promise<Checked> {
  let [created, updated, unchanged] = [0, 0, 0];
  const differences: Difference[] = [];
  const refused: Refused[] = [];
  const lines = new Map<unknown, number>();
  for await (const { rows, done } of batchesOf(source)) {
    let left = rows.filter(isFirst);
    while (left.length > 0) {
      signal.throwIfAborted();
      if (refused.length >= MAX_REFUSED) return { created, updated, unchanged, differences, refused };
      const answer = await dryRun(source.table, left, signal);
      if ('counts' in answer) {
        created += answer.counts.created;
        updated += answer.counts.updated;
        unchanged += answer.counts.unchanged;
        differences.push(...(answer.counts.differences ?? []).slice(0, MAX_DIFFERENCES - differences.length));
        break;
      }
      refused.push(...answer.refused);
      const taken = new Set(answer.refused.map(({ line }) => line));
      left = left.filter(({ line }) => !taken.has(line));
    }
    onProgress(done);
  }
  return { created, updated, unchanged, differences, refused };

  /** The same key in two batches would be no error there. */
  function isFirst({ line, item }: Row): boolean {
    const key = item[source.uniqueField];
    const before = key === null || key === undefined ? undefined : lines.get(key);
    if (before === undefined) lines.set(key, line);
    else refused.push({ line, messages: [], sameKeyAs: before });
    return before === undefined;
  }
}

type Answer = { readonly counts: Schemas['BatchResult'] } | { readonly refused: readonly Refused[] };

async function dryRun(table: string, rows: readonly Row[], signal: AbortSignal): Promise<Answer> {
  const params = { path: { table }, query: { dry_run: true } };
  const body = { items: rows.map(({ item }) => item) };
  try {
    const request = () => api.POST('/api/v1/platform/tables/{table}/assets/batch', { params, body, signal });
    return { counts: (await patiently(request, signal)).data };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    const messages = new Map<number, string[]>();
    for (const [path, texts] of Object.entries(error.fields)) {
      const [, at] = /^items\.(\d+)\./.exec(path) ?? [];
      const line = at === undefined ? undefined : rows[Number(at)]?.line;
      if (line !== undefined) messages.set(line, [...(messages.get(line) ?? []), ...texts]);
    }
    if (messages.size === 0) throw error;
    return { refused: [...messages].map(([line, texts]) => ({ line, messages: texts })) };
  }
}

export type Sent = { readonly sync: string; readonly records: number };

/**
 * Writes the rows in a new sync session, which is still open then.
 * @param skipped lines that the check refused
 * @param onStart given the session, so that what was written can be undone if the rest fails
 */
export async function sendFile(
  source: Source,
  skipped: ReadonlySet<number>,
  onStart: (sync: string) => void,
  { onProgress, signal }: Work,
): Promise<Sent> {
  const path = { table: source.table };
  const { id } = (await bodyOf(api.POST('/api/v1/platform/tables/{table}/syncs', { params: { path } }))).data;
  onStart(id);
  let records = 0;
  for await (const { rows, done } of batchesOf(source)) {
    signal.throwIfAborted();
    const items = rows.filter(({ line }) => !skipped.has(line)).map(({ item }) => ({ ...item, _batch_id: id }));
    // A batch whose answer was lost is not written twice.
    const headers = { 'Idempotency-Key': `${id}.${records}` };
    const request = () =>
      api.POST('/api/v1/platform/tables/{table}/assets/batch', { params: { path }, body: { items }, headers, signal });
    if (items.length > 0) await patiently(request, signal);
    records += items.length;
    onProgress(done);
  }
  return { sync: id, records };
}

/** Sends a request until it is answered: the service asks to wait while it is busy. */
async function patiently<T>(request: () => Parameters<typeof bodyOf<T>>[0], signal: AbortSignal) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await bodyOf<T>(request());
    } catch (error) {
      const mayPass = error instanceof ApiError && [0, 429, 503].includes(error.status);
      if (!mayPass || attempt === MAX_ATTEMPTS) throw error;
      const seconds = error.retryAfter ?? attempt;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      signal.throwIfAborted();
    }
  }
}

async function* batchesOf({ file, fields }: Source): AsyncGenerator<{ rows: readonly Row[]; done: number }> {
  let rows: Row[] = [];
  let characters = 0;
  for await (const piece of csvPieces(file)) {
    for (const { line, cells } of piece.rows) {
      if (line === 1) continue;
      if (rows.length === MAX_ITEMS || characters > MAX_CHARACTERS) {
        yield { rows, done: piece.bytesRead / file.size };
        [rows, characters] = [[], 0];
      }
      rows.push({ line, item: itemOf(cells, fields, piece.delimiter) });
      characters += cells.reduce((sum, cell) => sum + cell.length, 0);
    }
  }
  if (rows.length > 0) yield { rows, done: 1 };
}

const itemOf = (cells: readonly string[], fields: Source['fields'], delimiter: Delimiter): Item =>
  Object.fromEntries(
    fields.flatMap((field, at) =>
      field === undefined ? [] : [[field.name, cellValue(cells[at] ?? '', field, delimiter)]],
    ),
  );

/** An empty cell is null. What is no value of the type stays as it is: the service says what is wrong with it. */
function cellValue(cell: string, { type }: AssetField, delimiter: Delimiter): unknown {
  // Our own CSV keeps spreadsheets from taking a text for a formula.
  const text = /^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
  const trimmed = text.trim();
  if (trimmed === '') return null;
  switch (type) {
    case 'Integer':
      return /^[+-]?\d{1,15}$/.test(trimmed) ? Number(trimmed) : trimmed;
    case 'Decimal':
      // Where the comma is the decimal sign, files are separated by semicolons.
      return delimiter === ';' ? trimmed.replace(/^([+-]?\d+),(\d+)$/, '$1.$2') : trimmed;
    case 'Boolean':
      return /^true$/i.test(trimmed) ? true : /^false$/i.test(trimmed) ? false : trimmed;
    case 'Date':
    case 'DateTime':
      return trimmed;
    default:
      return text;
  }
}
