import type { Position } from '../ports/eventStore.js';

/** Positions: reached, and at the end of the log when it was asked. */
type Reached = { readonly position: Position; readonly of: Position };

/** How far a start is. One that follows millions of events takes some seconds, also where they are others' events. */
export class StartProgress {
  #text: () => string = () => '';

  begin(): void {
    this.#text = () => '';
  }

  readonly directory = (reached: () => Reached): void => this.#stage('directory of tenants is', reached);
  readonly rows = (reached: Reached): void => this.#stage('rows are', () => reached);

  /** A sentence, with a space before it; empty until something is known. */
  readonly text = (): string => this.#text();

  #stage(what: string, reached: () => Reached): void {
    this.#text = () => {
      const { position, of } = reached();
      return ` The ${what} at position ${position} of ${of}.`;
    };
  }
}
