/** Versions of Node that the service can run on. */

const OLDEST = [20, 19] as const;

/** @param version as `process.versions.node` tells it @returns why it will not do; undefined when it will */
export function unfitNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `Node ${version} is too old: take Node 24, or at least ${OLDEST.join('.')}.`;
}
