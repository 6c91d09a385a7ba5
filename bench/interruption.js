/** Whoever interrupts a run of many minutes is left with nothing that runs on. */
const started = new Set();
let isListening = false;

/** @param child a process that ends with this one, also where that is interrupted */
export function endWithThis(child) {
  if (!isListening) for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => endAll(signal));
  isListening = true;
  started.add(child);
  child.once('exit', () => started.delete(child));
}

function endAll(signal) {
  for (const child of started) child.kill(signal);
  process.exit(1);
}
