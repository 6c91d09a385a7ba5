/** Times in queries. */
import { z } from 'zod';
import { dateTime } from '../domain/assetTypes/valueSchemas.js';

const DAY = /^\d{4}-\d\d-\d\d$/;

/** A time, or a day to which this time of day is added. UTC if no zone is given. */
const timeOf = (timeOfDay: string) =>
  z.preprocess((text) => (typeof text === 'string' && DAY.test(text) ? `${text}${timeOfDay}` : text), dateTime);

const TIME = { format: 'date-time' };

/** The parameters `from` and `to`, both inclusive. */
export const period = {
  from: timeOf('T00:00:00Z')
    .optional()
    .meta({ ...TIME, description: 'At this time or later; a date is its beginning.' }),
  to: timeOf('T23:59:59.999999Z')
    .optional()
    .meta({ ...TIME, description: 'At this time or before; a date is its end.' }),
};
