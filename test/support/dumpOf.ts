import { linesOf } from '#app/projections/copies.js';

/** All that there is of a tenant, by space. */
export async function dumpOf(rows: Parameters<typeof linesOf>[0], tenant: string) {
  const dump = [];
  for (const space of [...((await rows.spaces(tenant)) ?? new Map<string, unknown>()).keys()].sort())
    for await (const line of linesOf(rows, { tenant, space })) dump.push(line);
  return dump;
}
