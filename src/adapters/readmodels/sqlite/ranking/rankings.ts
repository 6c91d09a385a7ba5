/** The rankings that a thread finds pages by, and which ones it would have needed. */
import type { ReadConnection, ReadTable } from '../read/readConnection.js';
import { type MadeRanking, Ranking } from './ranking.js';

/** Of which table, in the order of which column's index. */
export type RankingName = Pick<MadeRanking, 'tenant' | 'table' | 'column'>;

export const rankingKey = ({ tenant, table, column }: RankingName): string => `${tenant} ${table} ${column}`;

export class Rankings {
  readonly #rankings = new Map<string, Ranking>();
  readonly #want: (name: RankingName) => void;

  /** @param want is told of those that a slow page would have needed, each time */
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

  /** As the table is now; undefined where there is none, or too much has changed since. */
  get(connection: ReadConnection, table: ReadTable, name: RankingName): Ranking | undefined {
    const ranking = this.#rankings.get(rankingKey(name));
    if (ranking?.follow(connection, table) === false) {
      this.forget(name);
      return undefined;
    }
    return ranking;
  }
}
