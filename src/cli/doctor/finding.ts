/** A problem that a check has found. */
export type Finding = {
  /** A sentence that says what is wrong. */
  readonly problem: string;
  /** A sentence that says what to do. */
  readonly remedy: string;
};

export type Checked = {
  readonly check: string;
  /** What was checked, if nothing is wrong. */
  readonly detail: string;
  readonly findings: readonly Finding[];
};

/** A check that fails to run is a problem as well. */
export async function checked(
  check: string,
  remedy: string,
  look: () => Promise<Omit<Checked, 'check'>>,
): Promise<Checked> {
  try {
    return { check, ...(await look()) };
  } catch (error) {
    return {
      check,
      detail: '',
      findings: [{ problem: error instanceof Error ? error.message : String(error), remedy }],
    };
  }
}
