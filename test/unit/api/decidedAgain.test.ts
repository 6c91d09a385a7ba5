/** A write that appends nothing is decided once more if another machine has written meanwhile. */
import type { Api } from '#app/api/deps.js';
import type { RequestContext } from '#app/api/requestContext.js';
import { decidedAgain } from '#app/api/routes/decidedAgain.js';
import { NotFoundError, TryAgainError } from '#app/commands/context.js';

const tenant = { name: 'acme' };

/** @param news whether another machine has written, which shows once the log was asked */
function machine(news: boolean) {
  const counts = { asked: 0, decided: 0 };
  const api = {
    directory: { tenant: () => tenant },
    unshown: { lastOf: () => (news && counts.asked > 0 ? 7 : 3) },
    logEnd: {
      reached: async () => {
        counts.asked += 1;
        return true;
      },
    },
  } as unknown as Api;
  const deadline = { mayHaveWritten: false };
  const context = { tenant, deadline } as unknown as RequestContext;
  return { api, context, deadline, counts };
}

const missing = () => {
  throw new NotFoundError('There is no record.');
};

test('what was appended is decided, and the log is not asked', async () => {
  const { api, context, deadline, counts } = machine(true);
  const decide = () => {
    counts.decided += 1;
    deadline.mayHaveWritten = true;
    return 'made';
  };
  expect(await decidedAgain(api, context, decide)).toBe('made');
  expect(counts).toEqual({ asked: 0, decided: 1 });
});

test.each([
  ['refused', missing],
  ['without a change', () => 'unchanged'],
])('%s: decided again with what another machine has written', async (_, first) => {
  const { api, context, counts } = machine(true);
  const decide = () => {
    counts.decided += 1;
    return counts.decided === 1 ? first() : 'made';
  };
  expect(await decidedAgain(api, context, decide)).toBe('made');
  expect(counts).toEqual({ asked: 1, decided: 2 });
});

test('refused, and nobody else has written: it stays refused', async () => {
  const { api, context, counts } = machine(false);
  await expect(decidedAgain(api, context, missing)).rejects.toThrow(NotFoundError);
  expect(counts.asked).toBe(1);
});

test.each([
  ['that may have written something', missing, true],
  ['that failed otherwise', () => Promise.reject(new TryAgainError('busy')), false],
])('a request %s is not repeated', async (_, decide, mayHaveWritten) => {
  const { api, context, deadline, counts } = machine(true);
  deadline.mayHaveWritten = mayHaveWritten;
  await expect(decidedAgain(api, context, decide)).rejects.toThrow();
  expect(counts.asked).toBe(0);
});
