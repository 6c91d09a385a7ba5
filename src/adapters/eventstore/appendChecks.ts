/** Checks of an append that both event stores share. */
import {
  type EventToAppend,
  EventTooLargeError,
  type ExpectedRevision,
  MAX_EVENT_BYTES,
  type Revision,
} from '../../ports/eventStore.js';
import { mapWithPauses } from '../../supervision/waiting.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The data of each event as JSON text.
 * @throws EventTooLargeError if an event has over MAX_EVENT_BYTES of data
 * @throws TypeError if an id is no UUID or occurs twice, or data is no JSON value
 */
export async function dataAsJson(stream: string, events: readonly EventToAppend[]): Promise<readonly string[]> {
  if (new Set(events.map(({ id }) => id.toLowerCase())).size < events.length) {
    throw new TypeError(`Two events of one append to ${stream} have the same id.`);
  }
  return mapWithPauses(events, ({ id, type, data }) => {
    if (!UUID.test(id)) throw new TypeError(`Event id ${id} is not a UUID.`);
    const json: string | undefined = JSON.stringify(data);
    if (json === undefined) throw new TypeError(`The data of ${type} is not a JSON value.`);
    const bytes = Buffer.byteLength(json);
    if (bytes > MAX_EVENT_BYTES) throw new EventTooLargeError(type, bytes);
    return json;
  });
}

/** @param last revision of the stream's last event; -1 if the stream does not exist */
export function isAt(expected: ExpectedRevision, last: Revision): boolean {
  return expected === 'any' || last === (expected === 'no-stream' ? -1 : expected);
}
