/** The settings of a command: variables of the environment, and the file `.env` in the working directory. */
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError, settings } from '../config.js';
import { editDistance, nearestFirst } from '../domain/editDistance.js';

const FILE = '.env';
const NAMES = Object.keys(settings);

/** Variables of the environment override the file. */
export function loadEnvironmentFile(): void {
  if (existsSync(FILE)) process.loadEnvFile(FILE);
}

/**
 * A misspelt setting would be ignored, and its default in use. Of the environment, which other programs share, only names
 * that are nearly ours or begin as ours do are refused; of the file, all but those that others read from it.
 * @throws ConfigError that names each
 */
export function refuseUnknownSettings(environment: NodeJS.ProcessEnv = process.env): void {
  const inFile = existsSync(FILE) ? Object.keys(parseEnv(readFileSync(FILE, 'utf8'))) : [];
  const unknown = [
    ...inFile.filter((name) => !isKnown(name)).map((name) => [name, `${name} in ${FILE}`]),
    ...Object.keys(environment)
      .filter((name) => !inFile.includes(name) && isMeantForUs(name))
      .map((name) => [name, name]),
  ];
  if (unknown.length === 0) return;
  const sentences = unknown.map(([name = '', shown]) => `${shown} is no setting. ${didYouMean(name)}`);
  throw new ConfigError(sentences.join('\n'));
}

/** Of Node, OpenTelemetry, OpenSSL, the C library, proxies, and Docker Compose, which reads the same file. */
const OF_OTHERS =
  /^(?:(?:OTEL|NODE|NPM|UV|COMPOSE|DOCKER|LC)_\w+|SSL_CERT_(?:FILE|DIR)|LANG|TZ|(?:HTTPS?|NO|ALL)_PROXY)$/i;
const isKnown = (name: string): boolean => NAMES.includes(name) || OF_OTHERS.test(name);

const BEGIN_AS_OURS = /^(?:WEBHOOK|QUOTA|CHECKPOINT|RATE_LIMIT)_/;
/** Kubernetes sets such variables for a service of that name. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT(?:_\d+_\w+)?)$/;

const isMeantForUs = (name: string): boolean =>
  !isKnown(name) && !OF_KUBERNETES.test(name) && (BEGIN_AS_OURS.test(name) || NAMES.some((own) => isNear(name, own)));

/** Many programs have short names that are near to PORT and HOST. */
const SHORTEST = 6;
const MOST_CHANGES = 2;

function isNear(name: string, own: string): boolean {
  if (own.length < SHORTEST || Math.abs(name.length - own.length) > MOST_CHANGES) return false;
  return editDistance(name, own) <= MOST_CHANGES;
}

function didYouMean(name: string): string {
  const [nearest = ''] = nearestFirst(name, NAMES);
  const isLikely = editDistance(name.slice(0, 2 * nearest.length), nearest) <= nearest.length / 3;
  return isLikely ? `Did you mean ${nearest}?` : '"dynamic-assets config" lists all settings.';
}
