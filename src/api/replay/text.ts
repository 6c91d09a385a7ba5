/** The steps of a replay as JSON text, and the pages that they are shown on. */
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_HISTORY_PAGE_BYTES, MAX_REPLAY_PARTS, MAX_REPLAY_STEPS } from '../../domain/limits.js';
import type { Actor } from '../../ports/eventStore.js';
import type { DeliveryLogEntry } from '../../queries/deliveries.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { actorsShown, type ShownActor } from '../actors.js';
import { historyEntry } from '../assets/history.js';
import { deliveryView, shownDelivery } from '../deliveryView.js';
import * as json from '../openapi/schema.js';
import { problemView } from '../orderProblems.js';
import { type ShownStep, shownHead } from './shown.js';
import { PROBLEMS_BY, type ReplayPlace, type ReplaySource, type ReplayStep } from './steps.js';

/** Without the lists, which may be long. */
const stepView = json.view<ReplayStep>({
  is_continued: [
    { ...json.truth, description: 'It has nothing but further deliveries of the event of the step before it.' },
    ({ isContinued }) => isContinued,
  ],
  is_report: [
    { ...json.truth, description: 'An API client reported the status, as an ERP system does.' },
    ({ isContinued, recorded: { type, metadata } }) =>
      !isContinued && type === 'OrderStatusChanged' && metadata.actor.kind === 'client',
  ],
  problems_by: [
    {
      ...json.oneOf(PROBLEMS_BY),
      description:
        'approval: found with the records that the order named when it was approved. now: of the order as it was then, but whether the records exist that it names is as of now.',
    },
    ({ problemsBy }) => problemsBy,
  ],
});

const replayDelivery = json.closedObject({
  webhook_id: json.uuid,
  webhook_name: { ...json.nullableText, description: 'null if the webhook was removed.' },
  ...deliveryView.properties,
});

export const replaySchemas: json.Schemas = {
  ReplayStep: json.closedObject({
    ...historyEntry.properties,
    ...stepView.properties,
    problems: json.listOf(json.ref('OrderProblem')),
    deliveries: json.listOf(json.ref('ReplayDelivery')),
    changes: json.listOf(json.ref('FieldChange')),
  }),
  ReplayDelivery: replayDelivery,
};

const shownWithWebhook = (tenant: Pick<Tenant, 'webhooks'>, entry: DeliveryLogEntry): object => ({
  webhook_id: entry.webhookId,
  webhook_name: tenant.webhooks.get(entry.webhookId)?.name ?? null,
  ...shownDelivery(tenant, entry),
});

function headOf(step: ReplayStep, actor: ShownActor): object {
  const { id: eventId, type: eventType, revision, position, metadata } = step.recorded;
  const { occurredAt: at, correlationId, causationId } = metadata;
  const told = { ...step, eventId, eventType, revision, position, at, correlationId, causationId, actor, changes: '' };
  return { ...historyEntry.show(told), ...stepView.show(step) };
}

const stepText = (tenant: Pick<Tenant, 'webhooks'>, step: ReplayStep, actor: ShownActor): string =>
  JSON.stringify({
    ...headOf(step, actor),
    problems: step.problems.map(problemView.show),
    deliveries: step.deliveries.map((entry) => shownWithWebhook(tenant, entry)),
    changes: step.changes,
  });

type ReplayTenant = Pick<Tenant, 'name' | 'clients' | 'webhooks'>;

/** Shows one step after the other: as JSON text, and for people. Each unknown name is looked up once. */
export function stepsShown(source: ReplaySource, tenant: ReplayTenant, cancellation?: Cancellation) {
  const shown = new Map<string, ShownActor>();
  const show = async (actor: Actor): Promise<ShownActor> => {
    const key = JSON.stringify(actor);
    const known = shown.get(key) ?? (await actorsShown(source, tenant, [actor], cancellation))(actor);
    shown.set(key, known);
    return known;
  };
  return {
    text: async (step: ReplayStep): Promise<string> => stepText(tenant, step, await show(step.recorded.metadata.actor)),
    async forPeople(step: ReplayStep): Promise<ShownStep> {
      const problems = step.problems.map(problemView.show);
      const deliveries = step.deliveries.map((entry) => shownWithWebhook(tenant, entry));
      const head = headOf(step, await show(step.recorded.metadata.actor));
      return { ...shownHead.parse({ ...head, problems, deliveries }), changes: step.changes };
    },
  };
}

type ReplayPage = { readonly steps: readonly string[]; readonly next?: ReplayPlace | undefined };

/** A page ends at its number of steps, their bytes, or the parts that were checked, and has at least one step if there is any. */
export async function replayPage<Step extends Pick<ReplayStep, 'place' | 'checked'>>(
  steps: AsyncIterable<Step>,
  text: (step: Step) => Promise<string>,
): Promise<ReplayPage> {
  const page: string[] = [];
  let [bytes, checked] = [0, 0];
  for await (const step of steps) {
    const made = page.length === MAX_REPLAY_STEPS ? '' : await text(step);
    bytes += Buffer.byteLength(made);
    checked += step.checked;
    const isFull = page.length === MAX_REPLAY_STEPS || bytes > MAX_HISTORY_PAGE_BYTES || checked > MAX_REPLAY_PARTS;
    if (isFull && page.length > 0) return { steps: page, next: step.place };
    page.push(made);
  }
  return { steps: page };
}
