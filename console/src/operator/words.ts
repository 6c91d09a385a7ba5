/** The words of the operator's pages, apart from those of a tenant's people, whose first screen they must not slow; and sizes. */
import { useLanguage } from '../app/language';
import { en } from './en';
import { nl } from './nl';

export const useWords = () => (useLanguage().language === 'nl' ? nl : en);

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
