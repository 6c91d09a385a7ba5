/** The replay of an order as a page for people: one file, which loads nothing and runs nothing. */
import { type ShownAttempt, type ShownDelivery, type ShownStep, visible, visibleValue } from '../replay/shown.js';

const ENTITIES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Whatever a user, a client or a receiver wrote is text here, on one line, and changes the direction of nothing else. */
const text = (of: string): string => `<bdi>${visible(of).replace(/[&<>"']/g, (each) => ENTITIES[each] ?? '')}</bdi>`;
const value = (of: unknown): string => text(visibleValue(of));

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;overflow-wrap:anywhere}
section{border-top:1px solid #888;padding:.5rem 0}h2{font-size:1rem;margin:.2rem 0}table{border-collapse:collapse}
td,th{border:1px solid #bbb;padding:.1rem .4rem;text-align:left;vertical-align:top}.problem,.bad{color:#a00}code{font-size:.85em}`;

type PageHead = { readonly orderId: string; readonly tenant: string; readonly exportedAt: string };

export const pageBegin = ({ orderId, tenant, exportedAt }: PageHead): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width">
<title>Order ${orderId}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Order ${text(orderId)} of ${text(tenant)}</h1>
<p>Exported at ${text(exportedAt)}. This page tells what the events in <code>events</code> say; HOW-TO-CHECK.md says how to check these.</p>
`;

export const PAGE_END = '</body>\n</html>\n';

const list = (items: readonly string[], kind = ''): string =>
  items.length === 0 ? '' : `<ul${kind}>${items.map((item) => `<li>${item}</li>`).join('')}</ul>\n`;

/** Other work may run between the pieces. */
export function* stepSection(step: ShownStep): Generator<string> {
  const { actor, status_from: from, status_to: to } = step;
  yield `<section id="r${step.revision}${step.is_continued ? '-more' : ''}">\n`;
  if (!step.is_continued) {
    const moved = from === to ? text(to) : `${text(from ?? 'new')} → ${text(to)}`;
    yield `<h2>${step.revision}. ${text(step.event)}: ${moved}${step.is_report ? ' (reported)' : ''}</h2>\n`;
    yield `<p>${text(step.occurred_at)}, by ${text(actor.name ?? actor.id)} (${text(actor.kind)} ${text(actor.id)}), event <code>${text(step.id)}</code></p>\n`;
  }
  yield list(step.reasons.map((reason) => `Reason: ${text(reason)}`));
  yield list(step.warnings.map(({ message }) => `Warning: ${text(message)}`));
  if (step.changes.length > 0) yield '<table><tr><th>Record</th><th>Field</th><th>From</th><th>To</th></tr>\n';
  for (const { table, id, field, from: before, to: after } of step.changes)
    yield `<tr><td>${text(table)} ${text(id)}</td><td>${text(field)}</td><td>${value(before)}</td><td>${value(after)}</td></tr>\n`;
  if (step.changes.length > 0) yield '</table>\n';
  const by = step.problems_by === 'now' ? 'Problem (by the records at the time of the export)' : 'Problem';
  yield list(
    step.problems.map(({ field, message }) => `${by}: ${text(field)}: ${text(message)}`),
    ' class="problem"',
  );
  for (const delivery of step.deliveries) yield deliveryText(delivery);
  yield '</section>\n';
}

const deliveryText = (delivery: ShownDelivery): string => {
  const to = text(delivery.webhook_name ?? delivery.webhook_id);
  const purpose = delivery.purpose === null ? '' : ` (${text(delivery.purpose)})`;
  const reason = delivery.reason === null ? '' : `, ${text(delivery.reason)}`;
  return `<p>Delivery <code>${text(delivery.id)}</code> of ${text(delivery.kind)}${purpose} to ${to}: ${text(delivery.state)}${reason}</p>\n${list(delivery.attempts.map(attemptText))}`;
};

const attemptText = (attempt: ShownAttempt): string => {
  const took = attempt.duration_ms === null ? '' : ` in ${attempt.duration_ms} ms`;
  const reason = attempt.reason === null ? '' : `, <span class="bad">${text(attempt.reason)}</span>`;
  const hash = attempt.body_sha256 === null ? '' : `<br>sent SHA-256 <code>${text(attempt.body_sha256)}</code>`;
  const answer = attempt.response_body ?? '';
  return `Attempt ${attempt.attempt}, ${text(attempt.started_at)}, ${text(attempt.url)}: ${attempt.status ?? 'no answer'}${took}${reason}${hash}${answer === '' ? '' : `<br>answer <code>${value(answer)}</code>`}`;
};
