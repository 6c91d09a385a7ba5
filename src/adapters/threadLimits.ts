import type { ResourceLimits } from 'node:worker_threads';

/** Bounds what a thread's heap takes for what is young: left to itself V8 takes 48 MB, and gives little of it back. */
export const threadLimits = (megabytes: number): ResourceLimits => ({ maxYoungGenerationSizeMb: megabytes });
