/** The first index from `low` on, below `high`, for which `isTrue`; `high` if there is none. It must be true for all later ones. */
export function firstWhere(low: number, high: number, isTrue: (index: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (isTrue(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
