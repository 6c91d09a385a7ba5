/** Who may write to the read models: the writer has one transaction at a time, and more than one who wants it. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Does the work when those who asked before are done, whether they failed or not. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
