/** What somebody did, in words, for each kind of activity. */
import { useLanguage } from '../app/language';
import type { Entry } from './ActivityEntry';
import words from './words.json';

/** In English and Dutch, behind a name. The compiler refuses to lack a kind that the API has. */
const WORDS: { readonly [kind in Entry['kind']]: readonly string[] } = words;

export const ACTIVITY_KINDS = Object.keys(WORDS) as readonly Entry['kind'][];

/** The kind of an event of an order, as its history names it: `OrderPartAdded`. */
export function kindOfEvent(event: string): Entry['kind'] {
  const name = event.replace(/^Order|WithParts$/g, '').replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`);
  return ACTIVITY_KINDS.find((kind) => kind === `order.${name.toLowerCase()}`) ?? 'order.changed';
}

export function useKindWords(): (kind: Entry['kind']) => string {
  const { language } = useLanguage();
  return (kind) => WORDS[kind][language === 'nl' ? 1 : 0] ?? kind;
}

/** Of whose order it is. */
export const useFor = (): string => (useLanguage().language === 'nl' ? 'voor' : 'for');

/** Where these words stand, its name stands in a sentence: "approved PO-001 for De Brug", "keurde PO-001 voor De Brug goed". */
const THING = / (?:an?|een) (?:order|record|person|persoon|webhook|API.client|table|tabel)\b/;

/** The words before the name of what an entry is about, and behind it; the latter are missing where the words have no place for it. */
export function useVerb(): (kind: Entry['kind']) => readonly [before?: string, behind?: string] {
  const wordsOf = useKindWords();
  return (kind) => wordsOf(kind).split(THING) as [string?, string?];
}
