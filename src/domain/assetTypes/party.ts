/** `dyn_party`, the one table both models have (spec §1; fields of the party object, §2.3). */
import { longText, plainString, referenceTable, string } from './define.js';

export const dynParty = referenceTable({
  name: 'dyn_party',
  label: 'Parties',
  description: 'Customer information: buyers, invoiced parties, consignors and consignees.',
  fields: [
    string('account_id'),
    string('name', { required: true }),
    string('language', { maxLength: 10, filterable: false, sortable: false }),
    plainString('website_uri', { label: 'Website URI' }),
    plainString('street_name'),
    plainString('additional_street_name'),
    plainString('address_number'),
    string('city_name'),
    string('postal_zone', { maxLength: 20 }),
    string('country', { maxLength: 2, label: 'Country (ISO 3166-1 alpha-2)' }),
    plainString('contact_name'),
    plainString('contact_telephone'),
    plainString('contact_email'),
    plainString('vat_number', { label: 'VAT number' }),
    longText('notes'),
    // Short names that integrations use in requests (spec §2.1), kept beside the UBL names.
    plainString('street'),
    plainString('city'),
  ],
});
