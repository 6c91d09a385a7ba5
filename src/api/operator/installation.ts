/** The installation as a whole, now and in the last day: `/api/v1/operator/overview` and `/history`. */
import { z } from 'zod';
import { MAX_ENTRIES } from '../../domain/limits.js';
import type { Api } from '../deps.js';
import { point } from '../metrics.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { parkedView } from './projections.js';

async function overview(api: Api) {
  const { ready, operator, directory, progress, config, version } = api;
  const [{ ready: isReady }, checks] = await Promise.all([ready(), operator.checks()]);
  return {
    ready: isReady,
    checks: checks.flatMap(({ check, detail, findings }) => [
      ...(findings.length === 0 ? [{ check, ok: true, detail, remedy: '' }] : []),
      ...findings.map(({ problem, remedy }) => ({ check, ok: false, detail: problem, remedy })),
    ]),
    parked: operator.parked().slice(0, MAX_ENTRIES).map(parkedView.show),
    tenants_behind: progress.behind(),
    tenants: [...directory.tenants()].length,
    positions: config.EVENTSTORE_URL === undefined ? 'events' : 'bytes',
    release: version,
  };
}

const historyQuery = z.strictObject({ minutes: z.enum(['60', '1440'], 'must be 60 or 1440.').default('60') });

export const installation: Resource = {
  tag: 'installation',
  schemas: {
    Overview: json.closedObject({
      ready: json.truth,
      checks: json.listOf(
        json.closedObject({ check: json.text, ok: json.truth, detail: json.text, remedy: json.text }),
      ),
      parked: { ...json.listOf(json.ref('Parked')), description: `At most ${MAX_ENTRIES}.` },
      tenants_behind: json.listOf(json.closedObject({ tenant: json.text, seconds: json.count })),
      tenants: json.count,
      positions: { ...json.oneOf(['events', 'bytes']), description: 'What positions of the log count.' },
      release: json.text,
    }),
    Figures: { ...json.inputSchema(point), required: Object.keys(point.shape), additionalProperties: false },
  },
  operations: {
    'GET /overview': {
      id: 'getOverview',
      allow: 'operators',
      work: 'costly',
      answer: json.one('Overview'),
      handle: async (api) => dataReply(await overview(api)),
    },
    'GET /history': {
      id: 'getHistory',
      allow: 'operators',
      work: 'costly',
      query: parametersIn(historyQuery),
      answer: json.all('Figures'),
      handle: async ({ metrics }, { query }) =>
        dataReply(await metrics.history(Number(parseQuery(historyQuery, query).minutes))),
    },
  },
};
