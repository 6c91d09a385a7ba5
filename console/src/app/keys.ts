/** Keys for the whole console and for its pages: single ones and sequences such as `g o`. */
import { useEffect, useRef } from 'react';

export type Keys = { readonly [sequence: string]: (event: KeyboardEvent) => void };

/** A sequence ends when its next key does not come. */
const SEQUENCE_MS = 1_000;

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)) &&
  !(target instanceof HTMLInputElement && target.type === 'checkbox');

const nameOf = ({ key, ctrlKey, metaKey }: KeyboardEvent): string =>
  ctrlKey || metaKey ? `mod+${key.toLowerCase()}` : key;

/** Only keys with Ctrl or Cmd work while text is typed, or while a dialog is open. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    let first = '';
    let since = 0;
    const listener = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      const name = nameOf(event);
      const isOpen = document.querySelector('[role="dialog"]') !== null;
      if (!name.startsWith('mod+') && (isTyping(event) || isOpen)) return;
      const sequence = event.timeStamp - since < SEQUENCE_MS ? `${first} ${name}` : name;
      const act = current.current[sequence] ?? current.current[name];
      first = name;
      since = event.timeStamp;
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  }, []);
}
