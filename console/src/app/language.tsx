/** The words of the console, in a file for each language that comes when it is spoken, and dates in the person's zone. */
import { createContext, type ReactNode, startTransition, use, useContext, useEffect, useState } from 'react';
import type { en } from './en';
import { sessionWords } from './sessionWords';

export type Text = typeof en;

export type Language = 'en' | 'nl';
const LANGUAGES: { readonly [code in Language]: () => Promise<Text> } = {
  en: async () => (await import('./en')).en,
  nl: async () => (await import('./nl')).nl,
};
export const languages: readonly { readonly value: Language; readonly label: string }[] = [
  { value: 'en', label: 'English' },
  { value: 'nl', label: 'Nederlands' },
];

const KEPT_AS = 'console.language';
const isLanguage = (code: string | null | undefined): code is Language => code != null && code in LANGUAGES;

/** As it was chosen in this browser, or the browser's own. */
export function languageNow(): Language {
  const kept = localStorage.getItem(KEPT_AS);
  const preferred = navigator.language.slice(0, 2);
  return isLanguage(kept) ? kept : isLanguage(preferred) ? preferred : 'en';
}

/** Each language is loaded once. */
const loaded = new Map<Language, Promise<Text>>();

function wordsOf(language: Language): Promise<Text> {
  const words = loaded.get(language) ?? LANGUAGES[language]();
  loaded.set(language, words);
  return words;
}

type Spoken = { readonly language: Language; readonly speak: (language: Language) => void };
const Context = createContext<Spoken>({ language: 'en', speak: () => undefined });

export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(languageNow);
  useEffect(() => {
    document.documentElement.lang = language;
    void wordsOf(language);
  }, [language]);
  const speak = (next: Language) => {
    localStorage.setItem(KEPT_AS, next);
    // What is shown stays until the words are there.
    startTransition(() => setLanguage(next));
    window.dispatchEvent(new Event('spoken'));
  };
  return <Context.Provider value={{ language, speak }}>{children}</Context.Provider>;
}

/** It waits for the words. */
export function useLanguage(): Spoken & { readonly text: Text } {
  const spoken = useContext(Context);
  return { ...spoken, text: use(wordsOf(spoken.language)) };
}

export const useText = (): Text => useLanguage().text;
/** These are there before the others. */
export const useSessionText = () => inLanguage(sessionWords, useContext(Context).language);

type Said<Words> = Words extends readonly [infer English, unknown]
  ? English extends string
    ? string
    : English
  : { readonly [Name in keyof Words]: Said<Words[Name]> };

/** @param words pairs of English and Dutch, which stand in one file, by their names */
export function inLanguage<Words extends object>(words: Words, language: Language): Said<Words> {
  if (Array.isArray(words)) return words[language === 'nl' ? 1 : 0];
  return Object.fromEntries(Object.entries(words).map(([name, of]) => [name, inLanguage(of, language)])) as Said<Words>;
}

/** As the browser has it for the language: the British write dates and times as Americans do not. */
export const localeOf = (language: Language): string =>
  navigator.languages.find((each) => each.startsWith(language)) ?? language;

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d\d-\d\d$/;

const exact = (date: Date): string => `${date.toISOString().replace('T', ' ').replace('Z', '')} UTC`;

/** A moment in the person's zone, in UTC on hover; or a day without a time, which is the same in every zone. */
export function When({ at, long = false }: { readonly at: string | null | undefined; readonly long?: boolean }) {
  const locale = localeOf(useLanguage().language);
  if (at === null || at === undefined || at === '') return null;
  const isDay = DAY.test(at);
  const date = new Date(isDay || at.includes('T') ? at : `${at.replace(' ', 'T')}Z`);
  if (Number.isNaN(date.getTime())) return <>{at}</>;
  if (isDay)
    return <time dateTime={at}>{date.toLocaleDateString(locale, { dateStyle: 'medium', timeZone: 'UTC' })}</time>;
  const isToday = !long && Date.now() - date.getTime() < DAY_MS && date.getDate() === new Date().getDate();
  const timeStyle = long ? 'medium' : 'short';
  const shown = date.toLocaleString(locale, isToday ? { timeStyle } : { dateStyle: 'medium', timeStyle });
  return (
    <time dateTime={date.toISOString()} title={exact(date)}>
      {shown}
    </time>
  );
}

export function useNumber(): (value: number | null | undefined) => string {
  const { language } = useLanguage();
  return (value) => (value === null || value === undefined ? '' : new Intl.NumberFormat(language).format(value));
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** Bytes in the largest unit of which there is one. */
export function useSize(): (bytes: number) => string {
  const { language } = useLanguage();
  return (bytes) => {
    const at = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
    return new Intl.NumberFormat(language, {
      style: 'unit',
      unit: UNITS[at] ?? 'byte',
      unitDisplay: 'short',
      maximumFractionDigits: 1,
    }).format(bytes / 1_000 ** at);
  };
}
