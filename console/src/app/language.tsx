/** The words of the console, in one file a language, and dates in the person's zone. */
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { en } from './en';
import { nl } from './nl';

export type Text = typeof en;

const LANGUAGES = { en, nl } as const satisfies { readonly [code: string]: Text };
export type Language = keyof typeof LANGUAGES;
export const languages: readonly { readonly value: Language; readonly label: string }[] = [
  { value: 'en', label: 'English' },
  { value: 'nl', label: 'Nederlands' },
];

const KEPT_AS = 'console.language';
const isLanguage = (code: string | null | undefined): code is Language => code != null && code in LANGUAGES;

function firstLanguage(): Language {
  const kept = localStorage.getItem(KEPT_AS);
  const preferred = navigator.language.slice(0, 2);
  return isLanguage(kept) ? kept : isLanguage(preferred) ? preferred : 'en';
}

type Spoken = { readonly language: Language; readonly text: Text; readonly speak: (language: Language) => void };
const Context = createContext<Spoken>({ language: 'en', text: en, speak: () => undefined });

export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const speak = (next: Language) => {
    localStorage.setItem(KEPT_AS, next);
    setLanguage(next);
  };
  return <Context.Provider value={{ language, text: LANGUAGES[language], speak }}>{children}</Context.Provider>;
}

export const useLanguage = (): Spoken => useContext(Context);
export const useText = (): Text => useContext(Context).text;

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d\d-\d\d$/;

const exact = (date: Date): string => `${date.toISOString().replace('T', ' ').replace('Z', '')} UTC`;

/** A moment in the person's zone, in UTC on hover; or a day without a time, which is the same in every zone. */
export function When({ at, long = false }: { readonly at: string | null | undefined; readonly long?: boolean }) {
  const { language } = useLanguage();
  if (at === null || at === undefined || at === '') return null;
  const isDay = DAY.test(at);
  const date = new Date(isDay || at.includes('T') ? at : `${at.replace(' ', 'T')}Z`);
  if (Number.isNaN(date.getTime())) return <>{at}</>;
  if (isDay)
    return <time dateTime={at}>{date.toLocaleDateString(language, { dateStyle: 'medium', timeZone: 'UTC' })}</time>;
  const isToday = !long && Date.now() - date.getTime() < DAY_MS && date.getDate() === new Date().getDate();
  const shown = date.toLocaleString(
    language,
    isToday ? { timeStyle: long ? 'medium' : 'short' } : { dateStyle: 'medium', timeStyle: long ? 'medium' : 'short' },
  );
  return (
    <time dateTime={date.toISOString()} title={exact(date)}>
      {shown}
    </time>
  );
}

/** How long ago, in one unit. */
export function Age({ since }: { readonly since: string }) {
  const { language } = useLanguage();
  const minutes = Math.max(0, Math.round((Date.now() - new Date(since).getTime()) / 60_000));
  const [value, unit] =
    minutes < 60
      ? ([minutes, 'minute'] as const)
      : minutes < 48 * 60
        ? ([Math.round(minutes / 60), 'hour'] as const)
        : ([Math.round(minutes / 1440), 'day'] as const);
  const text = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(value);
  return <span title={exact(new Date(since))}>{text}</span>;
}

export function useNumber(): (value: number | null | undefined) => string {
  const { language } = useLanguage();
  return (value) => (value === null || value === undefined ? '' : new Intl.NumberFormat(language).format(value));
}
