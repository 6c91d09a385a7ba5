import { printLines, withProgressBar } from '../output.js';

/** Runs `work` behind a progress bar, then prints its count, its speed and what it returned. */
export async function timedStep(
  title: string,
  total: number,
  unit: string,
  work: (onProgress: (done: number) => void) => Promise<string>,
): Promise<void> {
  const started = performance.now();
  const note = await withProgressBar(`${title} {bar} {percentage}% {value}/{total}`, (onProgress) =>
    work((done) => onProgress(done, total)),
  );
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(total / seconds).toLocaleString('en');
  printLines(`${title}: ${total.toLocaleString('en')} ${unit} in ${seconds.toFixed(1)} s, ${rate} a second; ${note}`);
}
