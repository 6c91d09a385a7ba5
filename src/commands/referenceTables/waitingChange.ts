/** A change of a reference table that waits to be written or refused. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import type { Caller } from '../context.js';
import type { Written } from '../writeStream.js';
import type { DecisionRecords, Wanted } from './tableState.js';

/** Pure; may run several times; throws to refuse. */
export type Decide = (
  known: DecisionRecords,
) => Promise<readonly ReferenceTableEvent[]> | readonly ReferenceTableEvent[];

/** `revision` is that of its own last event, even when others shared the append. */
export type WrittenChange = Written<DecisionRecords, ReferenceTableEvent>;

/** A change of more records, such as a batch, is decided alone. */
const FEW_RECORDS = 4;
/** Changes that share one append. */
const MAX_TOGETHER = 64;

export class WaitingChange {
  readonly outcome: Promise<WrittenChange>;
  #resolve: (written: WrittenChange) => void = () => {};
  #reject: (reason: unknown) => void = () => {};
  #isOver = false;

  constructor(
    readonly caller: Caller,
    readonly assetType: AssetType,
    readonly wanted: Wanted,
    readonly decide: Decide,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { deadline } = caller;
    const forget = deadline?.onCancel(() => this.refuse(deadline.reason));
    const end = (): void => {
      forget?.();
    };
    this.outcome.then(end, end);
  }

  /** It was written, refused, or its caller's time is over. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isSmall(): boolean {
    return this.wanted.keys.length + this.wanted.ids.length <= FEW_RECORDS;
  }

  succeed(written: WrittenChange): void {
    this.#isOver = true;
    this.#resolve(written);
  }

  refuse(reason: unknown): void {
    this.#isOver = true;
    this.#reject(reason);
  }
}

/** Takes the next changes out of the queue: the first one, and if it is small, other small ones. */
export function takeTogether(waiting: WaitingChange[]): readonly WaitingChange[] {
  const [first] = waiting;
  if (first?.isSmall !== true) return waiting.splice(0, 1);
  const taken = waiting.filter(({ isSmall }) => isSmall).slice(0, MAX_TOGETHER);
  for (const change of taken) waiting.splice(waiting.indexOf(change), 1);
  return taken;
}
