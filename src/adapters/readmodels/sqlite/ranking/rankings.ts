/** The rankings of a reader thread, and its requests for others. */
import type { ReadConnection, ReadTable } from '../read/readConnection.js';
import { type MadeRanking, Ranking } from './ranking.js';

/** The table, and the column of the index. */
export type RankingName = Pick<MadeRanking, 'tenant' | 'table' | 'column'>;

export const rankingKey = ({ tenant, table, column }: RankingName): string => `${tenant} ${table} ${column}`;

export class Rankings {
  readonly #rankings = new Map<string, Ranking>();
  readonly #want: (name: RankingName) => void;

  /** @param want called with each ranking that would have made a slow page quick */
  constructor(want: (name: RankingName) => void) {
    this.#want = want;
  }

  want(name: RankingName): void {
    this.#want(name);
  }

  keep(made: MadeRanking): void {
    this.#rankings.set(rankingKey(made), new Ranking(made));
  }

  forget(name: RankingName): void {
    this.#rankings.delete(rankingKey(name));
  }

  /** Brought up to the table's state; undefined if there is none, or too much has changed. */
  get(connection: ReadConnection, table: ReadTable, name: RankingName): Ranking | undefined {
    const ranking = this.#rankings.get(rankingKey(name));
    if (ranking?.follow(connection, table) === false) {
      this.forget(name);
      return undefined;
    }
    return ranking;
  }
}
