/** Answers as the document shows them: what is another one in each run is the same in all, and lists have one entry. */

const LONGEST_TEXT = 200;
/** By name, since nothing else tells that they change. */
const FIXED: { readonly [name: string]: unknown } = {
  date: 'Sat, 21 Nov 2026 09:30:00 GMT',
  disk_free_bytes: 21_474_836_480,
  from_position: 1040,
  network: '192.0.2.7',
  operator: 'eva',
  password: '…',
  position: 1042,
  release: '1.0.0',
  to_position: 1042,
  used: 45_056,
};
const MEASURED = /_(ms|seconds|per_second)$|^(lag|deliveries_waiting)$/;
const AT_WORK = { progress: { tenant: 'acme', tenants: 1, done: 512, of: 1042 }, tenants_behind: [], tenants: 1 };
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d/g, '2026-11-21$109:30:00'],
  [/\.\d{3}Z/g, '.000Z'],
  [/\.\d{6}Z/g, '.000000Z'],
  [/\b\d{20}\.\d+\.(\d+)/g, '20261121093000000000.1042.$1'],
  [/https?:\/\/[\w-]+\.localhost:\d+/g, 'https://acme.assets.example.com'],
  [/127\.0\.0\.1:\d+/g, 'erp.example.com'],
  [/acme-[\da-f]{8}/g, 'acme'],
  [/^(das_|whsec_|eyJ).+/, '$1…'],
  [/^[\da-f]{64}$/, '…'],
];

export function exampleOf(answer: unknown): unknown {
  const ids: string[] = [];
  const numbered = (id: string): string => {
    if (!ids.includes(id)) ids.push(id);
    return `0198c1f2-0000-7000-8000-${String(ids.indexOf(id) + 1).padStart(12, '0')}`;
  };
  const textOf = (text: string): string => {
    const own = text.replaceAll(/[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g, numbered);
    const same = CHANGING.reduce((made, [pattern, by]) => made.replace(pattern, by), own);
    return same.length > LONGEST_TEXT ? `${same.slice(0, 22)}…` : same;
  };
  const shown = (part: unknown, name = ''): unknown => {
    if (typeof part === 'number' && MEASURED.test(name)) return 21;
    if (Object.hasOwn(AT_WORK, name)) return AT_WORK[name as keyof typeof AT_WORK];
    if (Array.isArray(part)) return part.slice(0, 1).map((each) => shown(each));
    if (typeof part === 'string') return FIXED[name] ?? textOf(part);
    if (typeof part !== 'object' || part === null) return part === null ? null : (FIXED[name] ?? part);
    const entries = Object.entries(part);
    return Object.fromEntries(
      (name === 'properties' ? entries.slice(0, 1) : entries).map(([each, value]) => [each, shown(value, each)]),
    );
  };
  return shown(answer);
}
