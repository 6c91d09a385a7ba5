/** The settings: environment variables, checked once at the start, each with its default and meaning; version and roles. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';

/** The version in package.json. */
export const version = (): string =>
  z.object({ version: z.string() }).parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')))
    .version;

/** The roles of a process: all, unless `start --role` names some. */
export const ROLES = ['api', 'projector', 'webhooks'] as const;
export type Role = (typeof ROLES)[number];

const integer = (fallback: number, min: number, max: number) =>
  z
    .string()
    .refine(
      (text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max,
      `must be a whole number from ${min} to ${max}`,
    )
    .transform(Number)
    .default(fallback);

/** A cluster URL names several hosts, which the URL standard does not allow: keeps the first one. */
const oneHost = (url: string): string => url.replace(/,[^/?#@]*(?=[/?#]|$)/, '');

const url = (protocols: readonly string[], example: string) =>
  z
    .string()
    .refine(
      (value) => URL.canParse(oneHost(value)) && protocols.includes(new URL(oneHost(value)).protocol),
      `must be a URL such as ${example}`,
    )
    .optional();

/** What a text has between its commas. */
export const commaSeparated = (text: string): string[] => text.split(',').flatMap((part) => part.trim() || []);

/** Whole numbers with commas between them: at least one. */
const numbers = (fallback: string, what: string, largest: number, most = Number.POSITIVE_INFINITY) =>
  z
    .string()
    .default(fallback)
    .transform((text) => commaSeparated(text).map((part) => (/^\d+$/.test(part) ? Number(part) : Number.NaN)))
    .refine((all) => all.length >= 1 && all.length <= most && all.every((n) => n <= largest), `${what} ${fallback}`);

const path = z.string().transform((text) => resolve(text));

const oneOf = <const Word extends string>(...words: Word[]) =>
  z.enum(words, `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);

const CIDR = /^[0-9a-fA-F:.]+\/\d{1,3}$/;
const BASE64_KEY = /^[A-Za-z0-9+/]{43}=$/;
const HOST_LABELS = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\.?$/i;

const hostName = (example: string) =>
  z
    .string()
    .regex(HOST_LABELS, `must be a host name such as ${example}`)
    .transform((name) => name.toLowerCase().replace(/\.$/, ''));

/** One entry for each variable. `describe` is its meaning, shown in the help and the README. */
export const settings = {
  PORT: integer(3000, 0, 65535).describe('TCP port of the HTTP server; 0 takes a free one'),
  HOST: z.string().default('127.0.0.1').describe('Address the HTTP server listens on; 0.0.0.0 for all'),
  DATA_DIR: path
    .prefault('data')
    .describe('Directory of the embedded engines, and of what each process keeps for itself'),
  BASE_HOST: hostName('assets.example.com')
    .default('localhost')
    .describe('Host name under which tenants live: <tenant>.<BASE_HOST>'),
  OPERATOR_HOST: hostName('operator.example.com')
    .default('operator.service.localhost')
    .describe(
      "Host name of the operator's console (`dynamic-assets console`); the default is reached on this machine alone, or through a tunnel",
    ),
  DEFAULT_TENANT: z.string().optional().describe('Tenant of requests to a bare host name or an IP address'),
  LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
    .default('info')
    .describe('How much is logged (JSON lines on standard error)'),
  EVENTSTORE_URL: url(
    ['esdb:', 'esdb+discover:', 'kurrentdb:', 'kurrentdb+discover:'],
    'esdb://127.0.0.1:2113?tls=false',
  ).describe('EventStoreDB for the event log; if unset, an embedded one'),
  MONGODB_URL: url(['mongodb:', 'mongodb+srv:'], 'mongodb://127.0.0.1:27017/assets').describe(
    'MongoDB for the rows that reads are answered from; if unset, files of DATA_DIR',
  ),
  RABBITMQ_URL: url(['amqp:', 'amqps:'], 'amqp://127.0.0.1:5672').describe(
    'RabbitMQ for webhook jobs; if unset, an embedded queue',
  ),
  DURABILITY: oneOf('full', 'normal')
    .default('full')
    .describe('full: an acknowledged write survives power loss; normal: only a crash of the process'),
  // Longer than /health/ready waits for an engine.
  REQUEST_TIMEOUT_MS: integer(10_000, 4000, 600_000).describe(
    'Longest time of a request with all its waits, in milliseconds, without the arrival of its body; then 503',
  ),
  WRITE_WAIT_MS: integer(5000, 0, 60000).describe(
    'How long the answer to a write waits until reads show the write, in milliseconds',
  ),
  BODY_LIMIT_BYTES: integer(4 * 1024 * 1024, 1024, 64 * 1024 * 1024).describe('Largest request body; more is 413'),
  TRUST_PROXY: integer(0, 0, 10).describe(
    'Number of proxies in front that set X-Forwarded-For, -Host and -Proto; 0 ignores these headers',
  ),
  METRICS_TOKEN: z
    .string()
    .regex(/^[A-Za-z0-9\-._~+/]{16,200}=*$/, 'must be 16 to 200 letters, digits or any of -._~+/')
    .optional()
    .describe('Bearer token that /metrics requires; if unset, it answers only programs on this machine'),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:'], 'http://127.0.0.1:4318').describe(
    'Where traces are sent (OTLP over HTTP); if unset, none are made',
  ),
  TOKEN_TTL_SECONDS: integer(3600, 10, 86400).describe('Validity of an access token'),
  RATE_LIMIT_PER_SECOND: integer(10_000, 1, 1_000_000).describe(
    'Requests a second of each API client, each user, and each network before the caller is known',
  ),
  QUOTA_LOG_BYTES: integer(20_000_000_000, 0, 1e15).describe(
    'Bytes that a tenant may have in the event log; more is 507; 0 for no limit. `dynamic-assets tenant quotas` sets those of one tenant',
  ),
  QUOTA_RECORDS: integer(10_000_000, 0, 1e12).describe('Records of a tenant; 0 for no limit'),
  DISK_RESERVE: integer(1_000_000_000, 0, 1e15).describe(
    'Bytes kept free on the disk of DATA_DIR, with any embedded engine: below it, changes that need room are 507',
  ),
  BACKUP_DIR: path
    .optional()
    .describe("Directory of the backups that the operator's console begins, best on another disk"),
  CHECKPOINT_MINUTES: integer(60, 0, 10_080).describe(
    'Minutes between two signed checkpoints of the event log; 0: none by itself',
  ),
  CHECKPOINT_DIR: path
    .optional()
    .describe('Directory that gets a file with each signed checkpoint, best on another machine'),
  WEBHOOK_ALLOWED_NETWORKS: z
    .string()
    .default('')
    .transform(commaSeparated)
    .refine((cidrs) => cidrs.every((cidr) => CIDR.test(cidr)), 'must be CIDRs such as 10.0.0.0/8,127.0.0.0/8')
    .describe('Private networks that webhooks may reach, on any port'),
  WEBHOOK_ALLOWED_PORTS: numbers('443,8443', 'must be ports such as', 65_535).describe('Ports that webhooks may use'),
  WEBHOOK_BACKOFF_MS: numbers(
    '30000,120000,600000,3600000',
    'must be waits in milliseconds, such as',
    999_999_999,
    4,
  ).describe('Waits between the five delivery attempts, in milliseconds; the last one repeats'),
  WEBHOOK_CONCURRENCY: integer(50, 1, 1000).describe('Deliveries in work at once'),
  DELIVERY_LOG_DAYS: integer(30, 1, 3650).describe('How long the delivery log shows a delivery after its end'),
  WEBHOOK_TIMEOUT_MS: integer(15000, 100, 120000).describe('Time limit of one delivery attempt'),
  WEBHOOK_CA_FILE: z
    .string()
    .optional()
    .describe('PEM file of a certificate authority that webhooks trust beside the public ones'),
  SECRETS_KEY: z
    .string()
    .transform(commaSeparated)
    .refine(
      (keys) => keys.length >= 1 && keys.every((key) => BASE64_KEY.test(key)),
      'must be 32 bytes in base64, or several such keys with commas between them',
    )
    .transform((keys) => keys.map((key) => Buffer.from(key, 'base64')))
    .optional()
    .describe(
      'Key that seals webhook secrets and the keys that sign tokens, 32 bytes in base64, the same for all processes; if unset, one is kept in DATA_DIR. Of several, separated by commas, the first seals and all open',
    ),
} as const;

/** Settings whose values are never shown. */
const SECRET_SETTINGS: readonly string[] = ['SECRETS_KEY', 'METRICS_TOKEN'] satisfies (keyof typeof settings)[];

/** What the README and the help show. `defaultText` is written as in the environment; '' if there is none. */
export const settingRows = Object.entries(settings).map(([name, schema]) => ({
  name,
  defaultText: defaultText(schema),
  meaning: schema.description ?? '',
}));

/** The default before it is transformed. */
function defaultText(schema: unknown): string {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return String(schema.def.defaultValue);
  if (schema instanceof z.ZodPipe) return defaultText(schema.def.in);
  return '';
}

type Environment = { readonly [name: string]: string | undefined };

/** Every setting with its value, without keys and passwords. */
export const settingsInUse = (environment: Environment) =>
  settingRows.map(({ name, defaultText: standard, meaning }) => {
    const given = environment[name] || undefined;
    const source = given === undefined ? 'default' : 'environment';
    return { name, value: shownValue(name, given ?? standard), source, default: standard, meaning } as const;
  });

function shownValue(name: string, value: string): string {
  if (value === '') return '';
  if (SECRET_SETTINGS.includes(name)) return '********';
  return value.replace(/^([^:/]*:\/\/[^/@:]*):[^@/]*@/, '$1:********@');
}

const schema = z.object(settings).superRefine(({ BASE_HOST, OPERATOR_HOST }, { addIssue }) => {
  const label = OPERATOR_HOST.endsWith(`.${BASE_HOST}`) ? OPERATOR_HOST.slice(0, -BASE_HOST.length - 1) : '.';
  if (!label.includes('.'))
    addIssue({ code: 'custom', path: ['OPERATOR_HOST'], message: `must not be the host of a tenant: ${label}` });
});

export type Config = z.output<typeof schema>;

export class ConfigError extends Error {}

/** @throws ConfigError naming each variable that is wrong and what is allowed */
export function readConfig(environment: Environment): Config {
  const given = Object.fromEntries(Object.keys(settings).map((name) => [name, environment[name] || undefined]));
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const value = SECRET_SETTINGS.includes(name) ? 'not shown' : JSON.stringify(given[name]);
    return `${name} ${issue.message} (it is ${value})`;
  });
  throw new ConfigError(lines.join('\n'));
}
