/** The installation as a whole: `/api/v1/operator/overview`, `/machine`, `/settings` and `/checks`. */
import type { StoredSigningKey } from '../../domain/identity/signingKeys.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import type { CheckView, MachineView, SettingView } from './parts.js';

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

const readinessCheck = json.closedObject({ name: json.text, ok: json.truth, detail: json.nullableText });

const machineView = json.view<MachineView & { readonly api: Api }>({
  release: [json.text, ({ api }) => api.version],
  free_bytes: [json.count, ({ free }) => free],
  disk_bytes: [json.count, ({ size }) => size],
  reserve_bytes: [json.count, ({ api }) => api.disk.reserve],
  log_bytes: [{ type: ['integer', 'null'] }, ({ log }) => log],
  last_backup_at: { type: ['string', 'null'], format: 'date-time' },
  signing_keys: [json.listOf(json.ref('SigningKeyAge')), ({ api }) => api.operator.signingKeys().map(keyShown)],
});

const keyShown = ({ kid, addedAt, retiredAt, revoked }: StoredSigningKey) => ({
  kid,
  added_at: addedAt,
  retired_at: retiredAt ?? null,
  revoked: revoked === true,
});

const settingView = json.view<SettingView>({
  name: json.text,
  value: json.text,
  source: json.oneOf(['default', 'environment']),
  default: [json.text, (setting) => setting.default],
  meaning: json.text,
});

const checkView = json.view<CheckView>({
  check: json.text,
  detail: json.text,
  findings: [
    json.listOf(json.closedObject({ problem: json.text, remedy: json.text })),
    ({ findings }) => findings.map(({ problem, remedy }) => ({ problem, remedy })),
  ],
});

/** Undefined if it cannot be told now: an engine that is away is told as such. */
const unlessAway = <T>(asked: Promise<T>): Promise<T | undefined> => asked.catch(() => undefined);

async function overview(api: Api) {
  const { operator, directory, usage } = api;
  const [readiness, _queues, machine, backlog] = await Promise.all([
    api.ready(true),
    unlessAway(operator.queues()),
    operator.machine(),
    unlessAway(api.queries.deliveries.backlog()),
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
  const { free, size, lastBackupAt, webhooksHeld } = machine;
  const isLate = lastBackupAt === null || Date.now() - Date.parse(lastBackupAt) > BACKUP_OVERDUE_MS;
  const checks = Object.entries(readiness.checks).map(([name, { ok, detail }]) => ({
    name,
    ok,
    detail: detail ?? null,
  }));
  const found: { readonly [kind in Need['kind']]: readonly string[] } = {
    engine: checks.filter(({ ok }) => !ok).map(({ name }) => name),
    parked: [...new Set(operator.parked().map(({ tenant }) => tenant))],
    disk: free < Math.max(api.disk.reserve, NEARLY_FULL_SHARE * size) ? [String(free)] : [],
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
  const openDeliveries = backlog?.reduce((sum, { open }) => sum + open, 0);
  return { ready: readiness.ready, checks, needs, tenants: tenants.length, open_deliveries: openDeliveries ?? null };
}

export const installation: Resource = {
  tag: 'operator: installation',
  schemas: {
    Overview: json.closedObject({
      ready: json.truth,
      checks: json.listOf(readinessCheck),
      needs: json.listOf(
        json.closedObject({ kind: json.oneOf(NEEDS), count: json.count, names: json.listOf(json.text) }),
      ),
      tenants: json.count,
      open_deliveries: { type: ['integer', 'null'] },
    }),
    Machine: machineView.schema,
    SigningKeyAge: json.closedObject({
      kid: json.text,
      added_at: json.timestamp,
      retired_at: { type: ['string', 'null'], format: 'date-time' },
      revoked: json.truth,
    }),
    Setting: settingView.schema,
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
    'GET /machine': {
      id: 'operatorGetMachine',
      allow: 'operators',
      answer: json.one('Machine'),
      handle: async (api) => dataReply(machineView.show({ ...(await api.operator.machine()), api })),
    },
    'GET /settings': {
      id: 'operatorListSettings',
      allow: 'operators',
      answer: json.all('Setting'),
      handle: ({ operator }) => dataReply(operator.settings().map(settingView.show)),
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
