/** A long history of rows, the same each time, in slices that a follower makes of it: each is computed from the stored rows. */
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { keyOf, type Row } from '#app/domain/spaces.js';
import type { RowWrite, RowWriter, Slice, StoredRow } from '#app/ports/rowStore.js';
import { textField } from '../fixtures/textField.js';

const space = (name: string): AssetType => ({
  name,
  label: name,
  description: '',
  supportingData: true,
  role: 'reference',
  uniqueField: 'code',
  fields: [textField('code', { required: true }), textField('name')],
  relationships: [],
});
/** One keeps its past, one does not. */
export const SPACES = ['places', 'jobs'] as const;

const ROWS = 40;
const idOf = (of: string, n: number): string =>
  `${of === 'jobs' ? '1' : '0'}198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;
const timeOf = (position: number): string => new Date(Date.UTC(2026, 0, 1) + position * 1_000).toISOString();
const isCleanUp = (position: number): boolean => position % 13 === 0;

/** Numbers that depend on the position alone. */
function* numbersOf(position: number): Generator<number, never> {
  for (let state = position * 2_654_435_761; ; ) {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    yield state >>> 8;
  }
}

/** What the events behind `after` do, as far as one slice has them, and not beyond `until`. */
export async function sliceBehind(
  after: number,
  until: number,
  tenant: string,
  store: Pick<RowWriter, 'rows'>,
): Promise<Slice> {
  const known = new Map<string, Map<string, Row>>();
  for (const name of SPACES) {
    const ids = Array.from({ length: ROWS }, (_, n) => idOf(name, n));
    const found = after === 0 ? [] : (await store.rows({ tenant, space: name }, { ids, keys: [] })).rows;
    known.set(name, new Map(found.map((row) => [row.id, asRow(row)])));
  }
  const writes: RowWrite[] = [];
  let position = after;
  while (position < until && !(position > after && (isCleanUp(position) || isCleanUp(position + 1)))) {
    position += 1;
    writes.push(...writesAt(position, known));
  }
  return { writes, position };
}

const asRow = ({ n: _, data, ...row }: StoredRow): Row => ({ ...row, fields: JSON.parse(data) });

function* writesAt(position: number, known: ReadonlyMap<string, Map<string, Row>>): Generator<RowWrite> {
  if (position === 1) for (const name of SPACES) yield { kind: 'define', assetType: space(name) };
  const [places = new Map<string, Row>(), jobs = new Map<string, Row>()] = SPACES.map((name) => known.get(name));
  const numbers = numbersOf(position);
  const next = (below: number): number => numbers.next().value % below;
  const put = (name: string, rows: Map<string, Row>, n: number): RowWrite => {
    const was = rows.get(idOf(name, n));
    const fields = { code: `c${n}`, name: `n${String(position).padStart(5, '0')}` };
    const at = timeOf(position);
    const made = {
      id: idOf(name, n),
      key: keyOf({ uniqueField: 'code' }, fields),
      from: position,
      updated: at,
      fields,
    };
    const row = { ...made, created: was?.created ?? at, batch: was?.batch ?? null };
    rows.set(row.id, row);
    return { kind: 'put', space: name, row, ...(name === 'places' && was !== undefined && { was }) };
  };
  if (isCleanUp(position)) yield { kind: 'cleanUp', space: 'places', batch: `b${next(3)}`, to: position };
  // One that may be forgotten is not made again.
  yield put('jobs', jobs, 10 * (Math.floor(position / 20) % 4) + next(10));
  if (position % 7 === 0) {
    const before = `n${String(position - 20).padStart(5, '0')}`;
    for (const [id, { fields }] of jobs) if (String(fields.name).toLowerCase() < before) jobs.delete(id);
    yield { kind: 'forget', space: 'jobs', field: 'name', before };
  }
  if (isCleanUp(position)) return;
  const numbersUsed = new Set(Array.from({ length: 1 + next(6) }, () => next(ROWS)));
  for (const n of numbersUsed) {
    const was = places.get(idOf('places', n));
    if (was === undefined || next(4) > 0) yield put('places', places, n);
    else {
      places.delete(was.id);
      yield { kind: 'delete', space: 'places', was, to: position };
    }
  }
  const touched = [...places.keys()].sort().filter(() => next(3) === 0);
  const batch = `b${next(3)}`;
  for (const id of touched) {
    const row = places.get(id);
    if (row !== undefined) places.set(id, { ...row, batch });
  }
  yield { kind: 'touch', space: 'places', ids: touched, batch };
  const redacted = { name: 'redacted' };
  if (position % 11 === 0) yield { kind: 'redact', space: 'places', id: idOf('places', next(ROWS)), fields: redacted };
  yield { kind: 'end', space: 'places', revision: position, at: timeOf(position) };
}
