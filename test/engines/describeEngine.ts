/** Suites that need a production engine: skipped by name where there is none, failed where REQUIRE_ENGINES asks for it. */

/** @param missing why the engine cannot be had here; undefined when it can */
export function describeEngine(engine: string, title: string, missing: string | undefined, body: () => void): void {
  if (missing === undefined) {
    describe(title, body);
    return;
  }
  const required = (process.env.REQUIRE_ENGINES ?? '').split(',').map((name) => name.trim());
  if (required.includes(engine)) {
    test(title, () => {
      throw new Error(`REQUIRE_ENGINES names ${engine}, but ${missing}.`);
    });
    return;
  }
  describe.skip(`${title} (skipped: ${missing})`, body);
}
