import { MAX_SHOWN_NAME } from './limits.js';

/** A name from outside as a message repeats it: cut where it is long. */
export const shownName = (name: string): string =>
  name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
