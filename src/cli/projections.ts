import { Command } from 'commander';
import { projectionStatus, statusOfLanes, tenantsBehind } from '../projector/projections.js';
import { behindText } from '../projector/tenantState.js';
import { type RebuildReport, rebuildProjection } from '../rebuild/rebuild.js';
import { replaceUnreadable } from './damagedReadModels.js';
import { interruptible } from './interruption.js';
import { type ProjectionTools, withProjections } from './operator.js';
import { columns, type JsonOption, printResult, withJson, withProgressBar } from './output.js';
import { parkedLines, retryCommand } from './parked.js';
import { type Name, namesIn, type ScopeOptions, scopeIn, scopeText, withScope } from './projectionScope.js';
import { verifyCommand } from './projectionsVerify.js';

export function projectionsCommand(): Command {
  return new Command('projections')
    .description('Show, verify and rebuild the read models, and retry parked ones.')
    .addCommand(listCommand())
    .addCommand(verifyCommand())
    .addCommand(rebuildCommand())
    .addCommand(retryCommand());
}

function listCommand(): Command {
  const definition = new Command('list').description(
    'Show the position of each projection, and which tenants are behind or parked in it.',
  );
  return withJson(definition, 'dynamic-assets projections list').action(list);
}

async function list(options: JsonOption): Promise<void> {
  const status = await withProjections(async ({ lanes }) => {
    const behind = (await Promise.all(lanes.map(behindIn))).flat();
    return (await statusOfLanes(lanes)).map((each) => {
      const own = behind.filter(({ name }) => name === each.name);
      const names = own.flatMap((found) => found.names);
      return { ...each, tenantsBehind: { names, isAll: own.every(({ isAll }) => isAll) } };
    });
  });
  const rows = status.map(({ name, position, head, behind, parked }) => [
    name,
    ...[position, head, behind, parked.length].map(String),
  ]);
  const table = columns([['PROJECTION', 'POSITION', 'HEAD', 'BEHIND', 'PARKED'], ...rows]);
  const late = status.flatMap(({ name, tenantsBehind: found }) => {
    const text = behindText(found, true);
    return text === undefined ? [] : ['', `${name}: ${text}`];
  });
  printResult(options, status, [...table, ...late, ...parkedLines(status.flatMap(({ parked }) => parked))]);
}

/** Tenants behind, for each projection of a lane. */
const behindIn = async (lane: ProjectionTools['lanes'][number]) =>
  Promise.all(
    (await projectionStatus(lane)).map(async (each) => ({
      name: each.name,
      ...(await tenantsBehind(lane.eventStore, each, await lane.writer.outOfOrder())),
    })),
  );

function rebuildCommand(): Command {
  const definition = new Command('rebuild').description(
    'Rebuild read models from the event log beside the live ones, then swap them in one step. No webhook is sent again.',
  );
  return withJson(withScope(definition), 'dynamic-assets projections rebuild --tenant acme --table dyn_item').action(
    rebuild,
  );
}

async function rebuild(options: ScopeOptions): Promise<void> {
  const names = namesIn(options);
  const replaced = await replaceUnreadable();
  const done: RebuildReport[] = [];
  const work = (signal: AbortSignal) =>
    withProjections(async (tools) => {
      const scope = await scopeIn(tools, options);
      for (const projection of names) {
        const reports: RebuildReport[] = [];
        for (const lane of tools.lanesOf(options.tenant)) {
          const format = `${projection} {bar} {percentage}% {value}/{total}, {events} events, {records} records`;
          reports.push(
            await withProgressBar(format, (onProgress) =>
              rebuildProjection(
                lane,
                { projection, ...scope },
                ({ position, head, ...applied }) => onProgress(position, head, applied),
                signal,
              ),
            ),
          );
        }
        done.push(reports.reduce(together));
      }
    });
  await interruptible(work, () => leftBy(done, names));
  printResult(options, done, [...replaced, ...done.map(sentence)]);
}

/** Sums two lanes' reports. */
const together = (sum: RebuildReport, next: RebuildReport): RebuildReport => ({
  ...sum,
  events: sum.events + next.events,
  records: sum.records + next.records,
  position: Math.min(sum.position, next.position),
  behind: Math.max(sum.behind, next.behind),
  seconds: sum.seconds + next.seconds,
});

/** How things stand after an interrupted rebuild. */
function leftBy(done: readonly RebuildReport[], names: readonly Name[]): string {
  const left = names.slice(done.length).join(', ');
  const inPlace = done.length === 0 ? '' : `In place now: ${done.map(({ projection }) => projection).join(', ')}. `;
  return `${inPlace}As before: ${left}. The next rebuild can begin at once.`;
}

const sentence = ({ events, records, behind, seconds, ...scope }: RebuildReport): string => {
  const asFar = behind === 0 ? '' : `, as far as the projector is: ${behind} positions behind the log`;
  return `${scopeText(scope)}: ${events} events with ${records} records in ${seconds.toFixed(1)} s, in place now${asFar}.`;
};
