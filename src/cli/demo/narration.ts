/** What the demo shows while it works: a bar for each long step, a line for each result. */
import { SingleBar } from 'cli-progress';
import { printLines } from '../output.js';

/** Runs `work` behind a progress bar (on standard error, where that is a terminal), then prints its count and speed. */
export async function timedStep(
  title: string,
  total: number,
  unit: string,
  work: (onProgress: (done: number) => void) => Promise<string | undefined>,
): Promise<void> {
  const bar = new SingleBar({ format: `${title} {bar} {percentage}% {value}/{total}`, clearOnComplete: true });
  const started = performance.now();
  bar.start(total, 0);
  let note: string | undefined;
  try {
    note = await work((done) => bar.update(done));
  } finally {
    bar.stop();
  }
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(total / seconds).toLocaleString('en');
  const result = `${title}: ${total.toLocaleString('en')} ${unit} in ${seconds.toFixed(1)} s, ${rate} a second`;
  printLines(note === undefined ? result : `${result}; ${note}`);
}

/** Runs `work` on all inputs, at most `width` at once; the first error ends it. */
export async function inParallel<T>(
  inputs: readonly T[],
  width: number,
  work: (input: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < inputs.length) {
      const index = next++;
      const input = inputs[index];
      if (input !== undefined) await work(input, index);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

export function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
