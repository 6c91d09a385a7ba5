/** `projections verify`: compares the read models with the log. */
import { Command } from 'commander';
import type { Difference } from '../ports/readModelProof.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { MAX_DIFFERENCES, type VerifyDeps, type VerifyReport, verifyProjection } from '../rebuild/verify.js';
import { EXIT_FAILURE } from './errors.js';
import { interruptible } from './interruption.js';
import { withProjections } from './operator.js';
import { printResult, withJson, withProgressBar } from './output.js';
import { namesIn, type ScopeOptions, scopeIn, scopeText, withScope } from './projectionScope.js';

export function verifyCommand(): Command {
  const definition = new Command('verify').description(
    'Apply the event log again beside the live read models, and compare them record by record, indexes and counts included. Changes nothing. Exits with 1 if they differ.',
  );
  return withJson(withScope(definition), 'dynamic-assets projections verify --tenant acme --table dyn_item').action(
    verify,
  );
}

async function verify(options: ScopeOptions): Promise<void> {
  const names = namesIn(options);
  const work = (signal: AbortSignal) =>
    withProjections(async (tools) => {
      const scope = await scopeIn(tools, options);
      const reports: VerifyReport[] = [];
      for (const projection of names) {
        const ofLanes: VerifyReport[] = [];
        for (const lane of tools.lanesOf(options.tenant))
          ofLanes.push(await verifyOne(lane, { projection, ...scope }, signal));
        reports.push(ofLanes.reduce(together));
      }
      return reports;
    });
  const reports = await interruptible(work, () => 'Nothing was changed. The next one can begin at once.');
  const result = resultOf(reports);
  printResult(options, result, linesOf(reports, result));
  if (!result.equal) process.exitCode = EXIT_FAILURE;
}

/** Sums two lanes' reports. */
function together(sum: VerifyReport, next: VerifyReport): VerifyReport {
  const differences = [...sum.differences, ...next.differences];
  const named = differences.slice(0, MAX_DIFFERENCES);
  return {
    ...sum,
    position: Math.min(sum.position, next.position),
    parts: sum.parts + next.parts,
    records: sum.records + next.records,
    differences: named,
    more: sum.more + next.more + differences.length - named.length,
    seconds: sum.seconds + next.seconds,
  };
}

const verifyOne = (lane: VerifyDeps, scope: RebuildScope, signal: AbortSignal): Promise<VerifyReport> =>
  withProgressBar(`${scope.projection}, {step} {bar} {percentage}% {value}/{total}, {records} records`, (onProgress) =>
    verifyProjection(
      lane,
      scope,
      (progress) => {
        const { step, records } = progress;
        if (progress.step === 'applying') onProgress(progress.position, progress.head, { step, records });
        else onProgress(progress.parts, progress.of, { step, records });
      },
      signal,
    ),
  );

type NamedDifference = Difference & Pick<RebuildScope, 'projection'>;

/** The output of `--json`. */
function resultOf(reports: readonly VerifyReport[]) {
  const named = reports.flatMap(({ projection, differences }) =>
    differences.map((difference): NamedDifference => ({ projection, ...difference })),
  );
  const all = reports.reduce((sum, report) => sum + found(report), 0);
  const differences = named.slice(0, MAX_DIFFERENCES);
  return {
    equal: all === 0,
    projections: reports.map(({ differences: listed, more, ...report }) => ({
      ...report,
      differences: listed.length + more,
    })),
    differences,
    more: all - differences.length,
  };
}

const found = ({ differences, more }: VerifyReport): number => differences.length + more;

function linesOf(reports: readonly VerifyReport[], { differences, more }: ReturnType<typeof resultOf>): string[] {
  const lines = reports.map((report) => {
    const { position, parts, records, seconds } = report;
    const number = found(report);
    const outcome =
      number === 0 ? 'equal to the log' : `${number} ${number === 1 ? 'difference' : 'differences'} from the log`;
    return `${scopeText(report)}: ${outcome}, at position ${position}; ${records} records in ${parts} tables, ${seconds.toFixed(1)} s.`;
  });
  return [...lines, ...differences.map(lineOf), ...(more === 0 ? [] : [`  and ${more} more`])];
}

function lineOf({ projection, tenant, table, place, record, kind, detail }: NamedDifference): string {
  const part = [projection, tenant, table].filter((each) => each !== null && each !== '').join('/');
  return `  ${[part, place, ...(record === null ? [] : [record])].join(', ')}: ${kind}. ${detail}`;
}
