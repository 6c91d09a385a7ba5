/** Checks the records of request bodies against their asset type, and reports all errors by field at once (spec §4.5 to §4.7, §7). */
import type { z } from 'zod';
import { MAX_ENTRIES, MAX_LIST_ENTRIES, MAX_STRING_LENGTH, MAX_VALUE_BYTES } from '../limits.js';
import { shownName } from '../shownName.js';
import { type AssetField, type AssetType, findField, SYSTEM_FIELDS } from './assetType.js';
import { type Fields, type FieldValue, fieldRules, isUuid, ownValue, Refusal, readText } from './fieldTypes.js';

/** Messages by field name, as in the body of a 422. */
export type FieldErrors = { readonly [field: string]: readonly string[] };

/** The first MAX_ENTRIES messages. Field names come from outside, so `__proto__` must be a name like any other. */
export class FieldErrorList {
  readonly #errors = new Map<string, string[]>();
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get isFull(): boolean {
    return this.#count >= MAX_ENTRIES;
  }

  /** Adds an error once: shortened names may be equal. */
  add(field: string, message: string): void {
    const messages = this.#errors.get(field) ?? [];
    if (this.isFull || messages.includes(message)) return;
    this.#count += 1;
    this.#errors.set(field, [...messages, message]);
  }

  addAll(errors: FieldErrors, prefix = ''): void {
    for (const [field, messages] of Object.entries(errors)) {
      for (const message of messages) this.add(`${prefix}${field}`, message);
    }
  }

  /**
   * What zod says of a body. Its messages follow "The … field".
   * @param isAbsent whether the body has no value at the issue's path
   */
  addIssues(issues: readonly z.core.$ZodIssue[], isAbsent: (issue: z.core.$ZodIssue) => boolean): void {
    for (const issue of issues) {
      const field = issue.path.join('.');
      if (issue.code === 'unrecognized_keys') {
        for (const name of issue.keys.slice(0, MAX_ENTRIES).map(shownName))
          this.add(field === '' ? name : `${field}.${name}`, `${name} is not a known field.`);
      } else if (field === '') this.add('body', 'The body must be a JSON object.');
      else this.add(field, `The ${field} field ${isAbsent(issue) ? 'is required.' : issue.message}`);
    }
  }

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }
}

/** Kinds of bodies, each with rules of its own. */
export type BodyKind = 'create' | 'update' | 'batchItem';

export type RecordInput = {
  /** Only the fields that the body named, checked and normalized; read-only fields are left out. */
  readonly fields: Fields;
  /** `id` of the body, if it had one. */
  readonly id?: string;
  /** `_batch_id` of a batch item; undefined when it was not named. */
  readonly batchId?: string | null;
};

export type Checked =
  | { readonly ok: true; readonly input: RecordInput }
  | { readonly ok: false; readonly errors: FieldErrors };

type Read = (value: unknown) => FieldValue | Refusal;

const NO_UUID = new Refusal('must be a UUID.');
const EMPTY = new Refusal('must not be empty.');
const NO_LIST = new Refusal(
  `must be an array of at most ${MAX_LIST_ENTRIES} strings, and ${MAX_VALUE_BYTES} bytes of JSON at most.`,
);

const readUuid = (value: unknown): string | Refusal =>
  typeof value === 'string' && isUuid(value) ? value.toLowerCase() : NO_UUID;

const readBatchId: Read = (value) => (value === '' ? EMPTY : readText(value, MAX_STRING_LENGTH));

function readList(value: unknown, read: Read): readonly string[] | Refusal {
  // The length first, so that the entries of a list that is too long cost nothing.
  const isList = Array.isArray(value) && value.length <= MAX_LIST_ENTRIES;
  if (!isList || Buffer.byteLength(JSON.stringify(value)) > MAX_VALUE_BYTES) return NO_LIST;
  const entries = value.map(read);
  return entries.find((each) => each instanceof Refusal) ?? entries.map(String);
}

/** Reads a value that is not null. */
function readerOf({ type, format, oneOf, list, required, maxLength }: AssetField): Read {
  const rules = fieldRules(type);
  const most = maxLength ?? rules.maxLength ?? 0;
  const readOne: Read = (value) => rules.read(value, most);
  if (list === true) return (value) => readList(value, readOne);
  if (format === 'uuid') return readUuid;
  if (oneOf !== undefined) {
    const refused = new Refusal(`must be one of ${oneOf.join(', ')}.`);
    return (value) => (typeof value === 'string' && oneOf.includes(value) ? value : refused);
  }
  return required && type === 'String' ? (value) => (value === '' ? EMPTY : readOne(value)) : readOne;
}

/** Made once for an asset type, since a batch has thousands of values. */
const readers = new WeakMap<AssetType, readonly (AssetField & { readonly read: Read })[]>();

function readersOf(assetType: AssetType) {
  const known = readers.get(assetType);
  if (known !== undefined) return known;
  const made = assetType.fields.map((field) => ({ ...field, read: readerOf(field) }));
  readers.set(assetType, made);
  return made;
}

export const isObject = (body: unknown): body is Fields =>
  typeof body === 'object' && body !== null && !Array.isArray(body);

export function checkRecord(assetType: AssetType, kind: BodyKind, body: unknown): Checked {
  const errors = new FieldErrorList();
  const refuse = (name: string, { message }: Refusal): void => errors.add(name, `The ${name} field ${message}`);
  if (!isObject(body)) return { ok: false, errors: { body: ['The body must be a JSON object.'] } };
  const fields: Record<string, FieldValue> = {};
  for (const { name, required, readOnly, read } of readersOf(assetType)) {
    const value = readOnly === true ? undefined : ownValue(body, name);
    if (value === undefined || value === null) {
      if (required && (value === null || kind !== 'update')) errors.add(name, `The ${name} field is required.`);
      else if (value === null) fields[name] = null;
      continue;
    }
    const stored = read(value);
    if (stored instanceof Refusal) refuse(name, stored);
    else fields[name] = stored;
  }
  const id = readSystem(body, 'id', readUuid);
  const batchId = kind === 'batchItem' ? readSystem(body, '_batch_id', readBatchId) : undefined;
  if (id instanceof Refusal) refuse('id', id);
  if (batchId instanceof Refusal) refuse('_batch_id', batchId);
  // A record that was read can be sent back: its times are taken and ignored.
  const isSystem = (name: string): boolean =>
    SYSTEM_FIELDS.some((each) => each === name) && (kind === 'batchItem' || name !== '_batch_id');
  for (const name in body) {
    if (Object.hasOwn(fields, name) || isSystem(name) || findField(assetType, name) !== undefined) continue;
    errors.add(shownName(name), `${shownName(name)} is not a field of ${assetType.name}.`);
  }
  if (!errors.isEmpty) return { ok: false, errors: errors.toErrors() };
  return {
    ok: true,
    input: {
      fields,
      ...(typeof id === 'string' ? { id } : {}),
      ...(typeof batchId === 'string' || batchId === null ? { batchId } : {}),
    },
  };
}

/** null counts as left out: many clients send every member of a record. */
function readSystem(body: Fields, name: string, read: Read): FieldValue | Refusal | undefined {
  const value = ownValue(body, name);
  return value === undefined || value === null ? value : read(value);
}
