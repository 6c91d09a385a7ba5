/** The installation as a whole: `/api/v1/operator/overview` and `/checks`. */
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import type { CheckView } from './parts.js';

/** Parked tenants, or tenants that are behind, that its first page names. */
const MAX_OPERATOR_NAMED = 10;

/** As in docs/alerts.yml. */
const BACKUP_OVERDUE_MS = 36 * 3_600_000;
const NEARLY_FULL_SHARE = 0.1;
/** Share of a quota from which on the operator is told. */
const NEARLY_USED = 0.9;

/** What needs an operator, the worst first. */
const NEEDS = ['engine', 'parked', 'disk', 'behind', 'held', 'backup', 'quota', 'receivers'] as const;
type Need = { readonly kind: (typeof NEEDS)[number]; readonly count: number; readonly names: readonly string[] };

const checkView = json.view<CheckView>({
  check: json.text,
  detail: json.text,
  findings: [
    json.listOf(json.closedObject({ problem: json.text, remedy: json.text })),
    ({ findings }) => findings.map(({ problem, remedy }) => ({ problem, remedy })),
  ],
});

async function overview(api: Api) {
  const { operator, directory, usage, disk } = api;
  const [readiness, machine, backlog] = await Promise.all([
    api.ready(),
    operator.machine(),
    // An engine that is away is told as such.
    api.queries.deliveries.backlog(directory.tenants()).catch(() => undefined),
  ]);
  const tenants = [...directory.tenants()];
  const isNearlyUsed = (tenant: (typeof tenants)[number]): boolean => {
    const limit = usage.limit(tenant, 'logBytes');
    return limit > 0 && (usage.known(tenant, 'logBytes') ?? 0) >= NEARLY_USED * limit;
  };
  const disabled = tenants.flatMap(({ name, webhooks }) =>
    [...webhooks.values()].flatMap((each) =>
      each.disabled === undefined || each.disabled.cause === 'admin' ? [] : [`${name}: ${each.name}`],
    ),
  );
  const { free, size, log, lastBackupAt, webhooksHeld } = machine;
  const isLate = lastBackupAt === null || Date.now() - Date.parse(lastBackupAt) > BACKUP_OVERDUE_MS;
  const checks = Object.entries(readiness.checks).map(([name, { ok, detail = null }]) => ({ name, ok, detail }));
  const found: { readonly [kind in Need['kind']]: readonly string[] } = {
    engine: checks.filter(({ ok }) => !ok).map(({ name }) => name),
    parked: operator.parked().map(({ tenant }) => tenant),
    disk: free < Math.max(disk.reserve, NEARLY_FULL_SHARE * size) ? [String(free)] : [],
    behind: api.progress.behind().map(({ tenant }) => tenant),
    held: webhooksHeld === undefined ? [] : [webhooksHeld],
    backup: isLate ? [lastBackupAt ?? ''] : [],
    quota: tenants.filter(isNearlyUsed).map(({ name }) => name),
    receivers: disabled,
  };
  const needs = NEEDS.flatMap((kind): Need[] => {
    const names = found[kind];
    return names.length === 0 ? [] : [{ kind, count: names.length, names: names.slice(0, MAX_OPERATOR_NAMED) }];
  });
  return {
    ready: readiness.ready,
    checks,
    needs,
    tenants: tenants.length,
    open_deliveries: backlog?.reduce((sum, { open }) => sum + open, 0) ?? null,
    release: api.version,
    free_bytes: free,
    disk_bytes: size,
    log_bytes: log,
    last_backup_at: lastBackupAt,
  };
}

export const installation: Resource = {
  tag: 'operator: installation',
  schemas: {
    Overview: json.closedObject({
      ready: json.truth,
      checks: json.listOf(json.closedObject({ name: json.text, ok: json.truth, detail: json.nullableText })),
      needs: json.listOf(
        json.closedObject({ kind: json.oneOf(NEEDS), count: json.count, names: json.listOf(json.text) }),
      ),
      tenants: json.count,
      open_deliveries: { type: ['integer', 'null'] },
      release: json.text,
      free_bytes: json.count,
      disk_bytes: json.count,
      log_bytes: { type: ['integer', 'null'] },
      last_backup_at: { type: ['string', 'null'], format: 'date-time' },
    }),
    Check: checkView.schema,
  },
  operations: {
    'GET /overview': {
      id: 'operatorGetOverview',
      allow: 'operators',
      work: 'costly',
      answer: json.one('Overview'),
      handle: async (api) => dataReply(await overview(api)),
    },
    'GET /checks': {
      id: 'operatorListChecks',
      allow: 'operators',
      work: 'costly',
      answer: json.all('Check'),
      handle: async ({ operator }) => dataReply((await operator.checks()).map(checkView.show)),
    },
  },
};
