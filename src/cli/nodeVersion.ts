/** Versions of Node that the service can run on. */

const OLDEST = 20;
/** From this one on, better-sqlite3 12 ends the process when a statement is collected as garbage; its version 13 crashes on Node 20. */
const FIRST_UNFIT = 24;

/** @param version as `process.versions.node` tells it @returns why it will not do; undefined when it will */
export function unfitNode(version: string): string | undefined {
  const major = Number(version.split('.')[0]);
  if (major >= OLDEST && major < FIRST_UNFIT) return undefined;
  return `Node ${version} will not do: take Node 22. From ${FIRST_UNFIT} on, the embedded database ends the process at times.`;
}
