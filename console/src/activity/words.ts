/** What somebody did, in words, for each kind of activity. */
import { useLanguage } from '../app/language';
import type { Entry } from './ActivityEntry';

/** In English and Dutch, behind a name. The compiler refuses a kind that the API does not have, or lacks one. */
const WORDS: { readonly [kind in Entry['kind']]: readonly [en: string, nl: string] } = {
  'tenant.created': ['created the tenant', 'maakte de tenant'],
  'table.added': ['added a table', 'voegde een tabel toe'],
  'table.field_added': ['added a field', 'voegde een veld toe'],
  'table.field_retired': ['retired a field', 'verwijderde een veld'],
  'table.labels_changed': ['changed labels', 'wijzigde labels'],
  'settings.rate_limit_changed': ['set the rate limit', 'stelde de limiet van verzoeken in'],
  'settings.rate_limit_removed': ['removed the rate limit', 'verwijderde de limiet van verzoeken'],
  'settings.clean_up_guard_changed': ['changed the guard of clean-ups', 'wijzigde de beveiliging van opschoningen'],
  'settings.quotas_changed': ['changed the quotas', 'wijzigde de quota'],
  'user.added': ['added a person', 'voegde een persoon toe'],
  'user.changed': ['changed a person', 'wijzigde een persoon'],
  'user.removed': ['removed a person', 'verwijderde een persoon'],
  'session.opened': ['signed in', 'meldde zich aan'],
  'session.ended': ['signed out', 'meldde zich af'],
  'session.refused': ['tried to sign in, and was refused', 'wilde zich aanmelden en werd geweigerd'],
  'request.refused': ['asked for what is not allowed', 'vroeg wat niet mag'],
  'client.created': ['added an API client', 'voegde een API-client toe'],
  'client.changed': ['changed an API client', 'wijzigde een API-client'],
  'client.secret_regenerated': ['gave an API client a new secret', 'gaf een API-client een nieuw geheim'],
  'client.secret_staged': ['prepared a new API secret', 'bereidde een nieuw API-geheim voor'],
  'client.secret_promoted': ['put a new API secret to use', 'nam een nieuw API-geheim in gebruik'],
  'client.secret_unstaged': ['gave up a new API secret', 'zag af van een nieuw API-geheim'],
  'client.used': ['took a token', 'haalde een token'],
  'client.removed': ['removed an API client', 'verwijderde een API-client'],
  'webhook.created': ['added a webhook', 'voegde een webhook toe'],
  'webhook.changed': ['changed a webhook', 'wijzigde een webhook'],
  'webhook.secret_regenerated': ['gave a webhook a new secret', 'gaf een webhook een nieuw geheim'],
  'webhook.secret_staged': ['prepared a new secret of a webhook', 'bereidde een nieuw geheim van een webhook voor'],
  'webhook.secret_promoted': ['put a new webhook secret to use', 'nam een nieuw webhookgeheim in gebruik'],
  'webhook.secret_unstaged': ['gave up the new secret of a webhook', 'zag af van het nieuwe geheim van een webhook'],
  'webhook.secrets_resealed': ['sealed webhook secrets again', 'verzegelde webhookgeheimen opnieuw'],
  'webhook.disabled': ['disabled a webhook', 'zette een webhook uit'],
  'webhook.enabled': ['enabled a webhook', 'zette een webhook aan'],
  'webhook.backfill_requested': ['sent earlier events again', 'stuurde eerdere gebeurtenissen opnieuw'],
  'webhook.removed': ['removed a webhook', 'verwijderde een webhook'],
  'record.created': ['created a record', 'maakte een record'],
  'record.changed': ['changed a record', 'wijzigde een record'],
  'record.deleted': ['deleted a record', 'verwijderde een record'],
  'table.batch': ['sent a batch', 'stuurde een batch'],
  'table.undo': ['took a change back', 'draaide een wijziging terug'],
  'table.clean_up': ['cleaned the table up', 'schoonde de tabel op'],
  'sync.started': ['began a synchronisation', 'begon een synchronisatie'],
  'sync.failed': ['sent a batch that was refused', 'stuurde een batch die werd geweigerd'],
  'sync.committed': ['ended a synchronisation', 'rondde een synchronisatie af'],
  'order.created': ['created an order', 'maakte een order'],
  'order.changed': ['changed an order', 'wijzigde een order'],
  'order.part_added': ['added a part of an order', 'voegde een deel van een order toe'],
  'order.part_changed': ['changed a part of an order', 'wijzigde een deel van een order'],
  'order.parts_changed': ['changed parts of an order', 'wijzigde delen van een order'],
  'order.status_changed': ['changed the state of an order', 'wijzigde de status van een order'],
  'order.approved': ['approved an order', 'keurde een order goed'],
  'order.rejected': ['rejected an order', 'wees een order af'],
  'order.export_failed': ['could not deliver an order', 'kon een order niet afleveren'],
  'order.export_delivered': ['delivered an order', 'leverde een order af'],
  'order.export_held': ['held an order back', 'hield een order tegen'],
  'order.exported': ['downloaded an order for a dispute', 'haalde een order op voor een geschil'],
  'delivery.requested': ['asked for a delivery', 'vroeg een aflevering aan'],
  'data.erased': ['erased data', 'wiste gegevens'],
};

export const ACTIVITY_KINDS = Object.keys(WORDS) as readonly Entry['kind'][];

/** The kind of an event of an order, as its history names it: `OrderPartAdded`. */
export function kindOfEvent(event: string): Entry['kind'] {
  const words = event.replace(/^Order|WithParts$/g, '').replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`);
  return ACTIVITY_KINDS.find((kind) => kind === `order.${words.toLowerCase()}`) ?? 'order.changed';
}

export function useKindWords(): (kind: Entry['kind']) => string {
  const { language } = useLanguage();
  return (kind) => WORDS[kind][language === 'nl' ? 1 : 0];
}
