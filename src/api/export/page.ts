/** The replay of an order as a page for people: one file, which loads nothing and runs nothing. */
import type { Tenant } from '../../domain/identity/directory.js';
import type { DeliveryAttempt, DeliveryLogEntry } from '../../queries/deliveries.js';
import type { ShownActor } from '../actors.js';
import { isReport } from '../assets/replay.js';
import { reasonOf } from '../deliveryView.js';
import { shownWarnings } from '../orderWarnings.js';
import type { ReplayStep } from '../replay/steps.js';

const ENTITIES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Control characters, and those that change the direction of others. */
const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** What a user, a client or a receiver wrote is text here, on one line, and changes the direction of nothing else. */
function text(of: string): string {
  const visible = of.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return `<bdi>${visible.replace(/[&<>"']/g, (each) => ENTITIES[each] ?? '')}</bdi>`;
}

const value = (of: unknown): string => text(JSON.stringify(of ?? null));

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

export function* stepSection(tenant: Pick<Tenant, 'webhooks'>, step: ReplayStep, actor: ShownActor): Generator<string> {
  const { recorded, statusFrom: from, statusTo: to } = step;
  const { revision, type, id, metadata } = recorded;
  const moved = from === to ? text(to) : `${text(from ?? 'new')} → ${text(to)}`;
  yield `<section id="r${revision}">\n`;
  yield `<h2>${revision}. ${text(type)}: ${moved}${isReport(step) ? ' (reported)' : ''}</h2>\n`;
  yield `<p>${text(metadata.occurredAt)}, by ${text(actor.name ?? actor.id)} (${text(actor.kind)} ${text(actor.id)}), event <code>${text(id)}</code></p>\n`;
  yield list(step.reasons.map((reason) => `Reason: ${text(reason)}`));
  yield list(shownWarnings(step).map(({ message }) => `Warning: ${text(String(message))}`));
  if (step.changes.length > 0) yield '<table><tr><th>Record</th><th>Field</th><th>From</th><th>To</th></tr>\n';
  for (const { table, id: record, field, from: before, to: after } of step.changes)
    yield `<tr><td>${text(table)} ${text(record)}</td><td>${text(field)}</td><td>${value(before)}</td><td>${value(after)}</td></tr>\n`;
  if (step.changes.length > 0) yield '</table>\n';
  const by = step.problemsBy === 'now' ? 'Problem (by the records at the time of the export)' : 'Problem';
  yield list(
    step.problems.map(({ field, message }) => `${by}: ${text(field)}: ${text(message)}`),
    ' class="problem"',
  );
  for (const delivery of step.deliveries) yield deliveryText(tenant, delivery);
  yield '</section>\n';
}

function deliveryText(tenant: Pick<Tenant, 'webhooks'>, delivery: DeliveryLogEntry): string {
  const to = text(tenant.webhooks.get(delivery.webhookId)?.name ?? delivery.webhookId);
  const purpose = delivery.purpose === undefined ? '' : ` (${text(delivery.purpose)})`;
  const said = reasonOf(tenant, delivery);
  const reason = said === undefined ? '' : `, ${text(said)}`;
  return `<p>Delivery <code>${text(delivery.id)}</code> of ${text(delivery.kind)}${purpose} to ${to}: ${text(delivery.state)}${reason}</p>\n${list(delivery.attempts.map(attemptText))}`;
}

function attemptText(attempt: DeliveryAttempt): string {
  const { durationMs, bodySha256, responseBody, startedAt, url, status } = attempt;
  const said = attempt.reason ?? '';
  const took = typeof durationMs === 'number' ? ` in ${durationMs} ms` : '';
  const reason = said === '' ? '' : `, <span class="bad">${text(said)}</span>`;
  const hash = bodySha256 === undefined ? '' : `<br>sent SHA-256 <code>${text(bodySha256)}</code>`;
  const answer = (responseBody ?? '') === '' ? '' : `<br>answer <code>${value(responseBody)}</code>`;
  return `Attempt ${attempt.attempt}, ${text(startedAt)}, ${text(url)}: ${status ?? 'no answer'}${took}${reason}${hash}${answer}`;
}
