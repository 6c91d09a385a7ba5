/** The words of the operator's pages, apart from those of a tenant's people, whose first screen they must not slow. */
import { addDutch, inWords, withTimes } from '../api/client';
import { inLanguage, useLanguage } from '../app/language';
import sentences from './sentences.nl.json';

addDutch(sentences);

/** What the service says to operators, in the words and with the times of their pages. */
export const said = (sentence: string): string => withTimes(inWords(sentence));

/** In English and Dutch. */
const WORDS = {
  title: ["Operator's console", 'Beheerconsole'],
  menu: {
    overview: ['Overview', 'Overzicht'],
    tenants: ['Tenants', 'Tenants'],
    log: ['Event log', 'Gebeurtenissenlog'],
    finds: ['Find tenants, pages and actions', 'Zoek tenants, pagina’s en acties'],
    end: ['End the session', 'Sessie beëindigen'],
  },
  session: {
    none: ['You have no session', 'U hebt geen sessie'],
    how: [
      'Run this on a machine of the service, and open the link that it prints. It opens one session, within ten minutes.',
      'Voer dit uit op een machine van de dienst en open de link die het afdrukt. De link opent één sessie, binnen tien minuten.',
    ],
  },
  overview: {
    well: ['All is well. Nothing needs you.', 'Alles is in orde. U hoeft niets te doen.'],
    release: ['Release', 'Versie'],
    checks: ['Checks', 'Controles'],
    ok: ['ok', 'in orde'],
  },
  figures: {
    title: ['Figures', 'Cijfers'],
    since: ['Since', 'Sinds'],
    hour: ['Last hour', 'Afgelopen uur'],
    day: ['Last day', 'Afgelopen dag'],
    requests: ['Requests a second', 'Verzoeken per seconde'],
    errors: ['errors', 'fouten'],
    time: ['99 of 100 requests took at most', '99 van 100 verzoeken binnen'],
    stored: ['Written to the log a second', 'In het log geschreven per seconde'],
    lag: ['What the rows lack of the log', 'Wat de rijen van het log missen'],
    waiting: ['Deliveries that wait', 'Wachtende afleveringen'],
    disk: ['Free disk', 'Vrije schijfruimte'],
    backup: ['Age of the last backup', 'Leeftijd van de laatste back-up'],
  },
  opening: {
    title: ['New tenant', 'Nieuwe tenant'],
    name: ['Name, the first part of its host', 'Naam, het eerste deel van de host'],
    admin_email: ['E-mail address of its first admin', 'E-mailadres van de eerste beheerder'],
  },
  tenants: {
    search: ['Name of a tenant', 'Naam van een tenant'],
    none: ['No tenant has this name.', 'Geen tenant heeft deze naam.'],
    noneAtAll: ['There is no tenant yet. Make the first one.', 'Er is nog geen tenant. Maak de eerste.'],
    tenant: ['Tenant', 'Tenant'],
    state: ['State', 'Toestand'],
    running: ['running', 'actueel'],
    filling: ['filling', 'wordt gevuld'],
    behind: [(seconds: string) => `${seconds} s behind`, (seconds: string) => `${seconds} s achter`],
    parked: ['parked', 'geparkeerd'],
    size: ['In the log', 'In het log'],
    log: ['Its events', 'De gebeurtenissen'],
  },
  parked: {
    is: ['is parked: nobody can read it.', 'is geparkeerd: niemand kan de gegevens lezen.'],
    event: [
      (type: string, position: string) => `${type} at position ${position} could not be applied:`,
      (type: string, position: string) => `${type} op positie ${position} kon niet worden toegepast:`,
    ],
  },
  jobs: {
    title: ['Jobs', 'Taken'],
    everything: ['all tenants', 'alle tenants'],
    verify: ['Verify the rows against the log', 'Rijen met het log vergelijken'],
    rebuild: ['Rebuild the rows', 'Rijen herbouwen'],
    retry: ['Retry', 'Opnieuw proberen'],
    audit_verify: ['Verify the event log', 'Gebeurtenissenlog controleren'],
    audit_checkpoint: ['Sign a checkpoint', 'Controlepunt ondertekenen'],
    backup: ['Back up', 'Back-up maken'],
    rebuildWhy: [
      'A copy is filled from the log and takes the place of the rows. No webhook is sent again.',
      'Een kopie wordt uit het log gevuld en vervangt de rijen. Er wordt geen webhook opnieuw verstuurd.',
    ],
    states: {
      running: ['at work', 'bezig'],
      done: ['done', 'klaar'],
      failed: ['failed', 'mislukt'],
      cancelled: ['cancelled', 'geannuleerd'],
      rebuilt: ['rebuilt', 'herbouwd'],
      equal: ['equal to the log', 'gelijk aan het log'],
      different: ['differs from the log', 'wijkt af van het log'],
      retried: ['tried again', 'opnieuw geprobeerd'],
      signed: ['a checkpoint is signed', 'een controlepunt is ondertekend'],
    },
  },
  log: {
    stream: ['Stream', 'Stroom'],
    position: ['Position', 'Positie'],
    revision: ['Revision', 'Revisie'],
    from: [(place: string) => `Go to: ${place.toLowerCase()}`, (place: string) => `Ga naar: ${place.toLowerCase()}`],
    newer: ['Newer event', 'Nieuwere gebeurtenis'],
    older: ['Older event', 'Oudere gebeurtenis'],
    none: ['No event fits.', 'Geen gebeurtenis past.'],
    noneYet: ['None of the latest events fits: show more.', 'Geen van de laatste gebeurtenissen past: toon meer.'],
  },
} as const;

export const useWords = () => inLanguage(WORDS, useLanguage().language);
