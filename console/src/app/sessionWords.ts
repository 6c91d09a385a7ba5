/** The words of the forms that open a session, in English and Dutch: they come with the first form, before those of the pages. */
export const sessionWords = {
  loading: ['Loading…', 'Laden…'],
  noAnswer: [
    'The service does not answer. Check your connection, then try again.',
    'De dienst antwoordt niet. Controleer uw verbinding en probeer het opnieuw.',
  ],
  changedSince: [
    'Someone else has changed this since you opened it. Look at it, then try again.',
    'Iemand anders heeft dit gewijzigd sinds u het opende. Bekijk het en probeer het opnieuw.',
  ],
  title: ['Sign in', 'Inloggen'],
  email: ['E-mail address', 'E-mailadres'],
  password: ['Password', 'Wachtwoord'],
  firstTitle: ['Choose your password', 'Kies uw wachtwoord'],
  firstWhy: [
    'The password that you were given is for the first sign-in only.',
    'Het wachtwoord dat u kreeg is alleen voor de eerste keer.',
  ],
  invitedWhy: [
    'Welcome. From now on you sign in with this address and your own password.',
    'Welkom. Vanaf nu logt u in met dit adres en uw eigen wachtwoord.',
  ],
  linkOver: [
    'The link was used already, or it is over. Sign in, or ask an admin for a new link.',
    'De link is al gebruikt of verlopen. Log in, of vraag een beheerder om een nieuwe.',
  ],
  oldPassword: ['Present password', 'Huidig wachtwoord'],
  newPassword: ['New password', 'Nieuw wachtwoord'],
  change: ['Change password', 'Wachtwoord wijzigen'],
  changed: [
    'Your password is changed. All your other sessions have ended.',
    'Uw wachtwoord is gewijzigd. Al uw andere sessies zijn beëindigd.',
  ],
} as const;

/** A field that names a record is called without `id`. */
const FIELD = /^The (?:[\w.]+\.)?(\w+?)(?:(?<!account|category|external|inquiry|product|sales_order)_id)? field /;
/** The service's sentences begin with names for programs: `The lines.0.item_id field is required.`, `at is in the future.` */
export const withNameInWords = (sentence: string): string =>
  sentence
    .replace(/^(?:at|from|to) (?=is |must )/, 'The moment ')
    .replace(/^filter\[(\w+)\]\S* /, 'The $1 field ')
    .replace(FIELD, (_, name) => `The ${name.replaceAll('_', ' ')} field `);
