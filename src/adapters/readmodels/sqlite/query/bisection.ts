/** The first index from `low` on, below `high`, for which this is true; `high` where there is none. It stays true behind it. */
export function firstWhere(low: number, high: number, isTrue: (index: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (isTrue(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
