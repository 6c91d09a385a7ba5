import { type Failure, keepRunning } from '#app/supervision/keepRunning.js';
import { sleep } from '#app/supervision/waiting.js';

const BACKOFF = { firstMs: 1, longestMs: 8, jitter: 0 };

type Run = (succeeded: () => void) => Promise<void>;

const failing: Run = async () => {
  throw new Error('away');
};

/** What was reported of these runs, one after the other; the loop is stopped in the one after the last. */
async function failuresOf(runs: readonly Run[]): Promise<Failure[]> {
  const stopping = new AbortController();
  const failures: Failure[] = [];
  const left = [...runs];
  const run: Run = async (succeeded) => {
    const next = left.shift();
    if (next === undefined) stopping.abort();
    else await next(succeeded);
  };
  await keepRunning(run, {
    signal: stopping.signal,
    backoff: BACKOFF,
    onFailure: (failure) => failures.push(failure),
  });
  return failures;
}

const delays = (failures: readonly Failure[]): number[] => failures.map(({ delayMs }) => delayMs);

describe('what is kept running', () => {
  it('is started again after waits that double up to a limit', async () => {
    expect(delays(await failuresOf(Array(6).fill(failing)))).toEqual([1, 2, 4, 8, 8, 8]);
  });

  it('restarts quickly again once it has run for longer than the longest wait, however often it failed before', async () => {
    const steady: Run = async () => {
      await sleep(2 * BACKOFF.longestMs);
      throw new Error('away after a while');
    };
    const failures = await failuresOf([...Array(7).fill(failing), steady, failing]);
    expect(delays(failures).slice(6)).toEqual([8, 1, 2]);
    expect(failures.slice(6).map((failure) => failure.failures)).toEqual([7, 1, 2]);
  });

  it('restarts quickly again once it has said that it succeeded', async () => {
    const succeeding: Run = async (succeeded) => {
      succeeded();
      throw new Error('away soon after');
    };
    expect(delays(await failuresOf([failing, failing, failing, succeeding]))).toEqual([1, 2, 4, 1]);
  });

  it('counts an end without an error as a failure', async () => {
    const [failure] = await failuresOf([async () => undefined]);
    expect(failure?.error).toEqual(new Error('It ended by itself.'));
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

  it('ends at once when it is stopped during a wait', async () => {
    const stopping = new AbortController();
    await keepRunning(failing, {
      signal: stopping.signal,
      backoff: { firstMs: 60_000, longestMs: 60_000 },
      onFailure: () => stopping.abort(),
    });
  });
});
