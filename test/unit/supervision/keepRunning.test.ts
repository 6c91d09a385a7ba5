import { keepRunning } from '#app/supervision/keepRunning.js';

/** A run that a busy machine holds up for as long as the longest wait would count as a success. */
const BACKOFF = { firstMs: 25, longestMs: 200 };

type Run = (succeeded: () => void) => Promise<void>;

const failing: Run = async () => {
  throw new Error('away');
};

/** The waits after these runs, one after the other; the loop is stopped in the one after the last. */
async function delaysOf(runs: readonly Run[]): Promise<number[]> {
  const stopping = new AbortController();
  const delays: number[] = [];
  const left = [...runs];
  const run: Run = async (succeeded) => {
    const next = left.shift();
    if (next === undefined) stopping.abort();
    else await next(succeeded);
  };
  await keepRunning(run, {
    signal: stopping.signal,
    backoff: BACKOFF,
    onFailure: (_, delayMs) => delays.push(delayMs),
  });
  return delays;
}

describe('what is kept running', () => {
  beforeEach(() => void jest.spyOn(Math, 'random').mockReturnValue(0.5));

  it('is started again after waits that double up to a limit', async () => {
    expect(await delaysOf(Array(5).fill(failing))).toEqual([25, 50, 100, 200, 200]);
  });

  it('reports nothing that its own stop brought about', async () => {
    const stopping = new AbortController();
    const run: Run = async () => {
      stopping.abort();
      throw new Error('stopped');
    };
    const onFailure = jest.fn();
    await keepRunning(run, { signal: stopping.signal, backoff: BACKOFF, onFailure });
    expect(onFailure).not.toHaveBeenCalled();
  });
});
