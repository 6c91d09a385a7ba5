/** The cursor in a link to the next page; undefined if there is none. @param name of its parameter */
export function cursorOf(link: string | null, name = 'cursor'): string | undefined {
  if (link === null) return undefined;
  return new URL(link, window.location.origin).searchParams.get(name) ?? undefined;
}
