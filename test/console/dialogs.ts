/** What takes something away names it. */
const ofOne = (what: string): string => `${what}: First API client`;

/** Each dialog of the console by the file that has it: by its title, which a walk meets, or by the picture that a day takes of it. */
export const DIALOGS: { readonly [file: string]: readonly string[] } = {
  'app/Account': ['sign-out-everywhere'],
  'app/Dialogs': ['Add a table', 'Add a user', ofOne('Remove'), 'admin-refusal', 'admin-secret'],
  'app/Frame': ['Show the keys', 'Find orders, records, pages and actions'],
  'operator/Jobs': ['operator-rebuild'],
  'operator/Log': ['operator-event'],
  'operator/Tenants': ['operator-credentials'],
  'orders/Decisions': ['clerk-reject', 'clerk-many-'],
  'settings/ApiClients': ['Add an API client', ofOne('Rotate the secret'), 'Replace the secret', ofOne('Remove')],
  'settings/Users': ['Add a user', 'Reset the password: admin@acme', 'Remove: vera Smit'],
  'tables/CleanUp': ['admin-import-guard'],
  'tables/TableRecords': ['Labels and fields', 'admin-retiring'],
  'tables/RecordForm': ['\u2068gnp.exe', 'Delete: '],
  'tables/Tables': ['Add a table', 'Add a field'],
  'tables/Operations': ['Undo'],
  'webhooks/WebhookPage': ['Send a test', 'Send earlier events', 'Disable: <img', 'New secret: <img', 'Remove: <img'],
  'webhooks/Webhooks': ['Add a webhook'],
};
