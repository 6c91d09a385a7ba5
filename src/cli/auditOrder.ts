/** The command `audit order`: prints all that happened to an order. */
import { Command } from 'commander';
import { type ShownAttempt, type ShownDelivery, type ShownStep, visible, visibleValue } from '../api/replay/shown.js';
import { type ReplaySource, replaySteps } from '../api/replay/steps.js';
import { stepsShown } from '../api/replay/text.js';
import { NotFoundError } from '../commands/context.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { OrderReader } from '../commands/orders/loadOrder.js';
import type { Tenant } from '../domain/identity/directory.js';
import { webhooksStream } from '../domain/streams.js';
import { type ReadTools, withReadModels } from './operator.js';
import { type JsonOption, printLines, withJson } from './output.js';

type OrderOptions = JsonOption & { readonly tenant: string };

export const orderCommand = (): Command =>
  withJson(
    new Command('order')
      .description(
        'Print all that happened to an order: each change with its actor, the problems that the order had then, the deliveries that it led to with all attempts, and the reports of the ERP system. Works with or without a running service.',
      )
      .argument('<order-id>', 'the id of the order')
      .requiredOption('--tenant <name>', 'its tenant'),
    'dynamic-assets audit order 0193b0aa-5c1e-7c3f-8f1e-2d3c4b5a6978 --tenant acme',
  ).action(printOrder);

/** Where a command has the parts of a replay from. */
export const replaySourceOf = ({ eventStore, queries }: ReadTools, tenant: string): ReplaySource => ({
  eventStore,
  orders: new OrderReader(eventStore),
  find: (table, key, values) => queries.records.find({ tenant, table }, key, values),
  deliveriesOfOrder: (...asked) => queries.deliveries.ofOrder(...asked),
});

/** The names of clients are in the events. @throws NotFoundError, UnknownNameError */
export const tenantOfReplay = ({ eventStore }: Pick<ReadTools, 'eventStore'>, name: string): Promise<Tenant> =>
  tenantNow({ eventStore }, name, webhooksStream(name));

async function printOrder(id: string, { tenant: name, json }: OrderOptions): Promise<void> {
  await withReadModels(name, async (tools) => {
    const tenant = await tenantOfReplay(tools, name);
    const source = replaySourceOf(tools, name);
    const shown = stepsShown(source, tenant);
    let steps = 0;
    for await (const step of replaySteps(source, { tenant, orderId: id.toLowerCase(), from: { revision: 0 } })) {
      if (json) process.stdout.write(`${steps === 0 ? '{"data":[' : ','}${await shown.text(step)}`);
      else printLines(...linesOf(await shown.forPeople(step)));
      steps += 1;
    }
    if (steps === 0) throw new NotFoundError(`The tenant ${name} has no order ${id}.`);
    if (json) process.stdout.write(']}\n');
  });
}

const MAX_PRINTED = 200;

/** As a terminal may show it. */
const cut = (text: string): string => (text.length > MAX_PRINTED ? `${text.slice(0, MAX_PRINTED)}…` : text);
const printed = (text: string): string => cut(visible(text));
const value = (of: unknown): string => cut(visibleValue(of));

function linesOf(step: ShownStep): string[] {
  const { actor, status_from, status_to, problems_by } = step;
  const by = `by ${printed(actor.name ?? actor.id)} (${actor.kind})`;
  const moved = status_from === status_to ? status_to : `${status_from ?? 'new'} → ${status_to}`;
  const head = step.is_continued
    ? []
    : [
        '',
        `${step.revision}  ${step.occurred_at}  ${step.event} ${by}: ${moved}${step.is_report ? ' (reported)' : ''}`,
      ];
  const found = problems_by === 'now' ? 'problem, by the records of now' : 'problem';
  return [
    ...head,
    ...step.reasons.map((reason) => `   reason: ${printed(reason)}`),
    ...step.warnings.map(({ message }) => `   warning: ${printed(message)}`),
    ...step.changes.map(
      ({ table, id, field, from, to }) => `   ${table} ${id} ${printed(field)}: ${value(from)} → ${value(to)}`,
    ),
    ...step.problems.map(({ field, message }) => `   ${found}: ${field}: ${printed(message)}`),
    ...step.deliveries.flatMap(linesOfDelivery),
  ];
}

const linesOfDelivery = (sent: ShownDelivery): readonly string[] => [
  `   delivery ${sent.id} of ${sent.kind}${sent.purpose === null ? '' : ` (${sent.purpose})`} to ${printed(sent.webhook_name ?? sent.webhook_id)}: ${sent.state}${sent.reason === null ? '' : `, ${printed(sent.reason)}`}${sent.retry_at === null ? '' : `, next attempt ${sent.retry_at}`}`,
  ...sent.attempts.flatMap(linesOfAttempt),
];

const linesOfAttempt = (made: ShownAttempt): readonly string[] => [
  `      ${made.attempt}. ${made.started_at} ${printed(made.url)}: ${made.status ?? 'no answer'}${made.duration_ms === null ? '' : ` in ${made.duration_ms} ms`}${made.reason === null ? '' : `, ${printed(made.reason)}`}`,
  ...(made.body_sha256 === null ? [] : [`         sent SHA-256 ${made.body_sha256}`]),
  ...(made.response_body === null || made.response_body === '' ? [] : [`         answer ${value(made.response_body)}`]),
];
