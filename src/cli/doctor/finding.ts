/** What a check says. */
export type Finding = {
  /** What is wrong: a sentence. */
  readonly problem: string;
  /** What to do about it. */
  readonly remedy: string;
};

export type Checked = {
  readonly check: string;
  /** What was looked at, and found well. */
  readonly detail: string;
  readonly findings: readonly Finding[];
};

/** A check that could not be made is a finding as well. */
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
