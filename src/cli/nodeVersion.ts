const OLDEST = [20, 19] as const;

/** @param version from `process.versions.node`. @returns why it is too old; undefined if it will do */
export function unfitNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `Node ${version} is too old: take Node 24, or at least ${OLDEST.join('.')}.`;
}
