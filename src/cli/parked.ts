/** Parked read models on the command line: how they are shown and retried. */
import { setTimeout as delay } from 'node:timers/promises';
import { Command, Option } from 'commander';
import type { Parked } from '../ports/projectionProgress.js';
import { afterFix, parkedSentence } from '../projector/tenantState.js';
import { EXIT_FAILURE } from './errors.js';
import { type ProjectionTools, withProjections } from './operator.js';
import { type JsonOption, printResult, withJson } from './output.js';
import { NAMES } from './projectionScope.js';

/** A paragraph for each with the remedy; no lines if nothing is parked. */
export const parkedLines = (parked: readonly Parked[]): readonly string[] =>
  parked.flatMap((each) => ['', parkedSentence(each), `  ${each.error}`, `  ${afterFix(each)}`]);

type RetryOptions = JsonOption & { readonly tenant: string; readonly projection?: string };

export function retryCommand(): Command {
  const definition = new Command('retry')
    .description(
      'Retry the read models of a tenant that are parked at an event that could not be applied. The service does it, beside its work for the others.',
    )
    .requiredOption('--tenant <name>', 'the tenant')
    .addOption(new Option('--projection <name>', 'only this one (default: all that are parked)').choices(NAMES));
  return withJson(definition, 'dynamic-assets projections retry --tenant acme').action(retry);
}

/** `asked`: the retry has not happened yet. */
type Outcome = { readonly tenant: string; readonly projection: string } & (
  | { readonly outcome: 'goes on' | 'asked' }
  | { readonly outcome: 'parked'; readonly parked: Parked }
);

async function retry(options: RetryOptions): Promise<void> {
  const outcomes = await withProjections(async (tools) => {
    await tools.tenant(options.tenant);
    const lanes = tools.lanesOf(options.tenant);
    const asked = (await parkedIn(lanes)).filter(
      ({ tenant, projection }) =>
        tenant === options.tenant && (options.projection === undefined || projection === options.projection),
    );
    for (const each of asked) for (const { writer } of lanes) await writer.askRetry(each);
    return outcomesOf(lanes, asked);
  });
  const lines = outcomes.length === 0 ? [`Nothing of ${options.tenant} is parked there.`] : outcomes.flatMap(sentences);
  printResult(options, outcomes, lines);
  if (outcomes.some(({ outcome }) => outcome === 'parked')) process.exitCode = EXIT_FAILURE;
}

const WAIT_MS = 10_000;
const LOOK_MS = 200;

type Lane = ProjectionTools['lanes'][number];

const parkedIn = async (lanes: readonly Lane[]): Promise<readonly Parked[]> =>
  (await Promise.all(lanes.map(({ writer }) => writer.parked()))).flat();

/** Waits until all outcomes are known, or until the time limit. */
async function outcomesOf(lanes: readonly Lane[], asked: readonly Parked[]): Promise<readonly Outcome[]> {
  const until = performance.now() + WAIT_MS;
  for (;;) {
    const now = await parkedIn(lanes);
    const outcomes = asked.map(({ tenant, projection }): Outcome => {
      const parked = now.find((each) => each.tenant === tenant && each.projection === projection);
      if (parked === undefined) return { tenant, projection, outcome: 'goes on' };
      if (parked.retryAsked) return { tenant, projection, outcome: 'asked' };
      return { tenant, projection, outcome: 'parked', parked };
    });
    if (outcomes.every(({ outcome }) => outcome !== 'asked') || performance.now() > until) return outcomes;
    await delay(LOOK_MS);
  }
}

function sentences(outcome: Outcome): readonly string[] {
  const { tenant, projection } = outcome;
  switch (outcome.outcome) {
    case 'goes on':
      return [`${projection} of ${tenant}: caught up, and goes on with the others.`];
    case 'asked':
      return [
        `${projection} of ${tenant}: asked for. It is tried as soon as the service runs; "dynamic-assets projections list" shows what comes of it.`,
      ];
    case 'parked':
      return [`${projection} of ${tenant}: still parked.`, ...parkedLines([outcome.parked]).slice(1)];
  }
}
