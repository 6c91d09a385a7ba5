/** The transport tenant: a table of places, kept in step with an external list. */
import { timedStep } from './apiClient.js';

const TABLE = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
const BATCH_SIZE = 1000;
/** In the newer list, every so many places are renamed or missing. */
const CHANGED_EVERY = 500;
const REMOVED_EVERY = 700;

/** Name, country, region, latitude, longitude. */
const PORTS = [
  ['Rotterdam', 'NL', 'Zuid-Holland', 51.95, 4.14],
  ['Amsterdam', 'NL', 'Noord-Holland', 52.41, 4.82],
  ['Antwerp', 'BE', 'Antwerpen', 51.3, 4.3],
  ['Zeebrugge', 'BE', 'West-Vlaanderen', 51.33, 3.2],
  ['Hamburg', 'DE', 'Hamburg', 53.53, 9.93],
  ['Bremerhaven', 'DE', 'Bremen', 53.58, 8.54],
  ['Le Havre', 'FR', 'Normandie', 49.48, 0.15],
  ['Marseille', 'FR', "Provence-Alpes-Côte d'Azur", 43.32, 5.35],
  ['Felixstowe', 'GB', 'Suffolk', 51.95, 1.31],
  ['Gothenburg', 'SE', 'Västra Götaland', 57.69, 11.85],
  ['Gdańsk', 'PL', 'Pomorskie', 54.38, 18.7],
  ['Valencia', 'ES', 'Comunitat Valenciana', 39.44, -0.31],
  ['Genoa', 'IT', 'Liguria', 44.4, 8.91],
];

/** So many depots around the ports, as records of `dyn_location`. */
export const makePlaces = (count) =>
  Array.from({ length: count }, (_, n) => {
    const [city, country, region, latitude, longitude] = PORTS[n % PORTS.length];
    const round = Math.floor(n / PORTS.length) + 1;
    return {
      external_id: `DEPOT-${String(n).padStart(7, '0')}`,
      name: `${city} depot ${round}`,
      city_name: city,
      country,
      country_subentity: region,
      latitude: Number((latitude + (round % 97) / 1000).toFixed(3)),
      longitude: Number((longitude + (round % 89) / 1000).toFixed(3)),
    };
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
  return timedStep(title, places.length, 'places', async () => {
    const sum = { created: 0, updated: 0, unchanged: 0 };
    for (let done = 0; done < places.length; done += BATCH_SIZE) {
      const items = places.slice(done, done + BATCH_SIZE).map((place) => ({ ...place, _batch_id: batchId }));
      const { data } = await api.request('POST', `${TABLE}/batch`, { items });
      for (const count of Object.keys(sum)) sum[count] += data[count];
    }
    return `${sum.created} created, ${sum.updated} updated, ${sum.unchanged} unchanged`;
  });
}
