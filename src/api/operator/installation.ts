/** The installation as a whole: `/api/v1/operator/overview`. */
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';

/** One list: of engines and rows, then of files, keys, disk, webhooks and backups. */
async function overview({ ready, operator, directory, version }: Api) {
  const [readiness, checks] = await Promise.all([ready(), operator.checks()]);
  return {
    ready: readiness.ready,
    checks: [
      ...Object.entries(readiness.checks).map(([check, { ok, detail = '' }]) => ({ check, ok, detail, remedy: '' })),
      ...checks.flatMap(({ check, detail, findings }) => [
        ...(findings.length === 0 ? [{ check, ok: true, detail, remedy: '' }] : []),
        ...findings.map(({ problem, remedy }) => ({ check, ok: false, detail: problem, remedy })),
      ]),
    ],
    tenants: [...directory.tenants()].length,
    release: version,
  };
}

export const installation: Resource = {
  tag: 'operator: installation',
  schemas: {
    Overview: json.closedObject({
      ready: json.truth,
      checks: json.listOf(
        json.closedObject({ check: json.text, ok: json.truth, detail: json.text, remedy: json.text }),
      ),
      tenants: json.count,
      release: json.text,
    }),
  },
  operations: {
    'GET /overview': {
      id: 'operatorGetOverview',
      allow: 'operators',
      work: 'costly',
      answer: json.one('Overview'),
      handle: async (api) => dataReply(await overview(api)),
    },
  },
};
