/** What an import does: rows of a file as batches, first as a dry run, then in a sync session. The service has the rules. */
import { ApiError, type AssetField, api, bodyOf, type Schemas } from '../api/client';
import { type Flaw, type Row, rowOf } from './cells';
import { csvPieces, type Dialect } from './csv';

type Difference = Schemas['Difference'];

export type Source = {
  readonly file: File;
  readonly dialect: Dialect;
  readonly table: string;
  /** Of each column; undefined: the column is left out. */
  readonly fields: readonly (AssetField | undefined)[];
  readonly uniqueField: string;
  /** What is wrong with a row that is not sent. */
  readonly words: { readonly [flaw in Flaw | 'sameKey']: string };
};

export type Refusal = {
  readonly line: number;
  readonly key: string;
  readonly field: string | undefined;
  readonly message: string;
};

export type Checked = {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** The first of them. */
  readonly differences: readonly Difference[];
  readonly refused: readonly Refusal[];
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
/** Refusals after which the check ends: something is wrong with the file as a whole. */
export const MAX_REFUSED = 100_000;
/** Rows that are shown to match columns with fields, the names among them. */
const MAX_BEGINNING = 4;
/** How often a request is sent that may pass by itself. */
const MAX_ATTEMPTS = 8;

/** The row with the names and the first ones below it, to match columns with fields. */
export async function beginningOf(file: File, dialect: Dialect): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  for await (const { rows } of csvPieces(file, dialect)) {
    found.push(...rows.filter(({ line }) => line >= dialect.header).map(({ cells }) => cells));
    if (found.length >= MAX_BEGINNING) break;
  }
  return found.slice(0, MAX_BEGINNING);
}

/** Sends all rows as dry runs. Rows that are refused are taken out of their batch, and the rest is checked again. */
export async function checkFile(source: Source, { onProgress, signal }: Work): Promise<Checked> {
  let [created, updated, unchanged] = [0, 0, 0];
  const differences: Difference[] = [];
  const refused: Refusal[] = [];
  const keys = new Set<unknown>();
  for await (const { rows, done } of batchesOf(source)) {
    refused.push(...rows.flatMap((row) => flawsOf(row, source)));
    let left = rows.filter(({ flaws }) => flaws.length === 0).filter(isFirst);
    while (left.length > 0 && refused.length < MAX_REFUSED) {
      signal.throwIfAborted();
      const answer = await dryRun(source, left, signal);
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
    if (refused.length >= MAX_REFUSED) break;
    onProgress(done);
  }
  return { created, updated, unchanged, differences, refused };

  /** The same key in two batches would be no error there. */
  function isFirst(row: Row): boolean {
    const key = row.item[source.uniqueField] ?? undefined;
    const isNew = key === undefined || !keys.has(key);
    if (!isNew) refused.push(refusal(row, source, source.words.sameKey, source.uniqueField));
    keys.add(key);
    return isNew;
  }
}

const refusal = ({ line, item }: Row, { uniqueField }: Source, message: string, field?: string): Refusal => ({
  line,
  key: String(item[uniqueField] ?? ''),
  field,
  message,
});

const flawsOf = (row: Row, source: Source): readonly Refusal[] =>
  row.flaws.map(({ flaw, field }) => refusal(row, source, source.words[flaw], field));

type Answer = { readonly counts: Schemas['BatchResult'] } | { readonly refused: readonly Refusal[] };

async function dryRun(source: Source, rows: readonly Row[], signal: AbortSignal): Promise<Answer> {
  const params = { path: { table: source.table }, query: { dry_run: true } };
  const body = { items: rows.map(({ item }) => item) };
  try {
    const request = () => api.POST('/api/v1/platform/tables/{table}/assets/batch', { params, body, signal });
    return { counts: (await patiently(request, signal)).data };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    const refused = Object.entries(error.fields).flatMap(([path, messages]) => {
      const [, at, field] = /^items\.(\d+)\.(.+)/.exec(path) ?? [];
      const row = at === undefined ? undefined : rows[Number(at)];
      return row === undefined ? [] : messages.map((message) => refusal(row, source, message, field));
    });
    if (refused.length === 0) throw error;
    return { refused };
  }
}

export type Group = { readonly message: string; readonly field: string | undefined; readonly lines: readonly number[] };

/** What is said of many rows once. */
export function groupsOf(refused: readonly Refusal[]): readonly Group[] {
  const groups = new Map<string, Group & { readonly lines: number[] }>();
  for (const { message, field, line } of refused) {
    const key = JSON.stringify([message, field]);
    const group = groups.get(key) ?? { message, field, lines: [] };
    group.lines.push(line);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.lines.length - a.lines.length);
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

async function* batchesOf({ file, dialect, fields }: Source): AsyncGenerator<{ rows: readonly Row[]; done: number }> {
  let rows: Row[] = [];
  let characters = 0;
  for await (const piece of csvPieces(file, dialect)) {
    for (const row of piece.rows) {
      if (row.line <= dialect.header) continue;
      if (rows.length === MAX_ITEMS || characters > MAX_CHARACTERS) {
        yield { rows, done: piece.bytesRead / file.size };
        [rows, characters] = [[], 0];
      }
      rows.push(rowOf(row, fields, dialect));
      characters += row.cells.reduce((sum, cell) => sum + cell.length, 0);
    }
  }
  if (rows.length > 0) yield { rows, done: 1 };
}
