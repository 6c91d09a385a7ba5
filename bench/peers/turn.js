/** At least so many requests a turn, however slow. */
const LEAST = 5;

/**
 * Asks one peer for a while.
 * @param start share of the work at which it begins; it goes round
 * @param most milliseconds; all work once where undefined
 */
export async function turn(peer, { work, clients = 1 }, start, most = Number.POSITIVE_INFINITY) {
  const first = Math.floor(work.length * start);
  const times = [];
  const begun = performance.now();
  let next = 0;
  const ask = async () => {
    while (next < work.length && (next < LEAST || performance.now() - begun < most)) {
      const request = work[(first + next++) % work.length];
      const asked = performance.now();
      await request(peer);
      times.push(performance.now() - asked);
    }
  };
  await Promise.all(Array.from({ length: clients }, ask));
  return { times, ms: performance.now() - begun };
}
