/** What threads need of each other: errors that can be sent, and a lower priority for work that nobody waits for. */
import { constants, getPriority, setPriority } from 'node:os';

/** Makes an error that can be sent to another thread: the clone of a driver's error class would lose its message. */
export function sendable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { message, stack, cause } = error;
  return Object.assign(new Error(message, cause === undefined ? {} : { cause: sendable(cause) }), { stack });
}

/** Added to `nice`: the thread gets about a third of the processor time of a competing one. */
const LOWER_BY = 5;

/** Lowers the priority of this thread and of threads that it starts. */
export function giveWay(): void {
  // Elsewhere the priority is the whole process's.
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.min(getPriority() + LOWER_BY, constants.priority.PRIORITY_LOW));
  } catch {
    // A sandbox may forbid it.
  }
}
