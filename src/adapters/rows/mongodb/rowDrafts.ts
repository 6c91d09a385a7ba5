/** What writes of one space come to: states that begin, states that end, and batch ids that move. Pure. */
import type { Row } from '../../../domain/row.js';
import type { Position } from '../../../ports/eventStore.js';
import type { RowWrite } from '../../../ports/rowStore.js';
import { type How, newDocument, OPEN, type Slots, type StateDocument, stateId } from './documents.js';

export type RowsWrite = Extract<RowWrite, { kind: 'put' | 'delete' | 'touch' }>;

/** The state that a row has before the writes. */
export type StoredState = Pick<StateDocument, 'n' | 'f'>;

/** Ids. */
type Touched = { readonly rows: string[]; readonly states: string[] };
type Ending = { readonly to: Position; readonly how: How };
type Made = { row: Row; readonly n: number; ended: Ending; isTouched: boolean };
type Draft = { readonly stored: StoredState | undefined; ending?: Ending; readonly made: Made[] };

const NOT_ENDED: Ending = { to: OPEN, how: 'present' };

export class RowDrafts {
  /** How many rows there are more. */
  added = 0;
  readonly #stored: ReadonlyMap<string, StoredState>;
  readonly #drafts = new Map<string, Draft>();
  readonly #touched = new Map<string, string | null>();
  #next: number;

  /** @param stored of the ids that are put or deleted @param next the number of the next row */
  constructor(stored: ReadonlyMap<string, StoredState>, next: number) {
    this.#stored = stored;
    this.#next = next;
  }

  get next(): number {
    return this.#next;
  }

  add(write: RowsWrite): void {
    if (write.kind === 'put') this.#put(this.#draftOf(write.row.id), write.row, write.was !== undefined);
    else if (write.kind === 'delete') this.#delete(this.#draftOf(write.was.id), write.to);
    else for (const id of write.ids) this.#touch(id, write.batch);
  }

  #draftOf(id: string): Draft {
    const draft = this.#drafts.get(id) ?? { stored: this.#stored.get(id), made: [] };
    this.#drafts.set(id, draft);
    return draft;
  }

  #put(draft: Draft, row: Row, isVersion: boolean): void {
    const { made, stored } = draft;
    const last = lastOf(draft);
    const isThere = last !== undefined || isStoredPresent(draft);
    const n = last?.n ?? (isThere ? stored?.n : undefined) ?? this.#next;
    const ending: Ending = { to: row.from, how: isVersion ? 'changed' : 'replaced' };
    if (!isThere) {
      this.#next += 1;
      this.added += 1;
    } else if (last === undefined) {
      draft.ending = ending;
    } else if (last.row.from === row.from) {
      made.pop();
    } else {
      last.ended = ending;
    }
    made.push({ row, n, ended: NOT_ENDED, isTouched: false });
  }

  #delete(draft: Draft, to: Position): void {
    const last = lastOf(draft);
    if (last === undefined && !isStoredPresent(draft)) return;
    this.added -= 1;
    if (last === undefined) draft.ending = { to, how: 'deleted' };
    // A state that the same append made was never shown, and leaves no version.
    else if (last.row.from === to) draft.made.pop();
    else last.ended = { to, how: 'deleted' };
  }

  #touch(id: string, batch: string | null): void {
    const draft = this.#drafts.get(id);
    const last = draft && lastOf(draft);
    if (last === undefined) {
      if (draft === undefined || isStoredPresent(draft)) this.#touched.set(id, batch);
      return;
    }
    last.row = { ...last.row, batch };
    last.isTouched = true;
  }

  /** States to be added. */
  documents(s: string, slots: Slots, position: Position): readonly StateDocument[] {
    return [...this.#drafts.values()]
      .flatMap(({ made }) => made)
      .map(({ row, n, ended }) => newDocument(s, slots, row, { n, ...ended }, position));
  }

  /** By batch id, rows and, where the writes make other states of a row as well, states. @param there see `endings` */
  touches(s: string, there: ReadonlySet<string>): ReadonlyMap<string | null, Touched> {
    const byBatch = new Map<string | null, Touched>();
    const touchedBy = (batch: string | null): Touched => {
      const touched = byBatch.get(batch) ?? { rows: [], states: [] };
      byBatch.set(batch, touched);
      return touched;
    };
    for (const [id, batch] of this.#touched) {
      const stored = this.#drafts.get(id)?.stored;
      if (stored === undefined) touchedBy(batch).rows.push(id);
      else touchedBy(batch).states.push(stateId(s, id, stored.f));
    }
    for (const [id, { made }] of this.#drafts)
      for (const { row, isTouched } of made) {
        const state = stateId(s, id, row.from);
        if (isTouched && there.has(state)) touchedBy(row.batch).states.push(state);
      }
    return byBatch;
  }

  /** @param there ids of states that were to be added, and had been by a slice that was cut: they may lack their end */
  endings(s: string, there: ReadonlySet<string>): readonly (Ending & { readonly ids: string[] })[] {
    const byEnding = new Map<string, Ending & { readonly ids: string[] }>();
    const end = (ending: Ending, stateOf: string): void => {
      const key = JSON.stringify([ending.to, ending.how]);
      const group = byEnding.get(key) ?? { ...ending, ids: [] };
      group.ids.push(stateOf);
      byEnding.set(key, group);
    };
    for (const [id, { stored, ending, made }] of this.#drafts) {
      if (stored !== undefined && ending !== undefined) end(ending, stateId(s, id, stored.f));
      for (const { row, ended } of made) {
        const state = stateId(s, id, row.from);
        if (ended.to !== OPEN && there.has(state)) end(ended, state);
      }
    }
    return [...byEnding.values()];
  }
}

const isStoredPresent = ({ stored, ending }: Draft): boolean => stored !== undefined && ending === undefined;

const lastOf = ({ made }: Draft): Made | undefined => {
  const last = made.at(-1);
  return last?.ended === NOT_ENDED ? last : undefined;
};
