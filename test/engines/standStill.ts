/** Lets a process stand still, as a machine does that hangs. */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** Resolves when each of its threads does: on a busy machine some go on and answer for a moment after the signal. */
export async function standStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const isStill = async (thread: string): Promise<boolean> =>
    /^State:\s+T/m.test(await readFile(`/proc/${pid}/task/${thread}/status`, 'utf8'));
  const areStill = async () => Promise.all((await readdir(`/proc/${pid}/task`)).map(isStill));
  while ((await areStill()).includes(false)) await wait(1);
}
