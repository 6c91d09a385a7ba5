/** The service's API, typed by its own OpenAPI document (console/build.mjs), and what its answers mean for a person. */
import createClient, { type ClientOptions } from 'openapi-fetch';
import type { components, operations, paths } from '../../generated/schema';
import { inLanguage, languageNow, localeOf } from '../app/language';
import { sessionWords, withNameInWords } from '../app/sessionWords';
import labels from './labels.nl.json';
import reasons from './reasons.nl.json';
import refusals from './refusals.nl.json';

export type Schemas = components['schemas'];
export type User = Schemas['User'];
export type AssetType = Schemas['AssetType'];
export type AssetField = Schemas['AssetField'];
type Json<Body> = { readonly content: { readonly 'application/json': Body } };
/** The body of an operation's answer. */
export type AnswerOf<Id extends keyof operations> = operations[Id] extends { responses: { 200: Json<infer Body> } }
  ? Body
  : never;
export type Order = AnswerOf<'platformGetOrder'>['data'];
export type OrderRow = AnswerOf<'platformListOrders'>['data'][number];
export type OrderProblem = Schemas['OrderProblem'];
export type PageMeta = Schemas['PageMeta'];
/** A record of any table: the table's info names its fields. */
export type AnyRecord = { readonly id: string; readonly [field: string]: unknown };

/** A refusal by the service, or its absence. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    /** 0 if the service did not answer. */
    readonly status: number,
    message: string,
    /** Messages by field, of a 422. */
    readonly fields: { readonly [field: string]: readonly string[] } = {},
    /** Seconds, of a 429 or 503. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** Of both consoles' clients. A change must say that it is JSON, also without a body. */
export const clientOptions: ClientOptions = {
  baseUrl: window.location.origin,
  headers: { 'Content-Type': 'application/json' },
  querySerializer: (query) =>
    new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) =>
        value === undefined || value === '' ? [] : [[name, String(value)]],
      ),
    ).toString(),
};

/** Kept in this browser while it may have a session, whose cookie is out of reach of scripts. */
export const SIGNED_IN = 'console.signed-in';
export const maySession = (): boolean => localStorage.getItem(SIGNED_IN) !== null;

export const api = createClient<paths>({ ...clientOptions, credentials: 'same-origin' });

type Answer<T> = { readonly data?: T; readonly error?: unknown; readonly response: Response };

/**
 * @returns the body of a successful answer
 * @throws ApiError for any other
 */
export async function bodyOf<T>(request: Promise<Answer<T>>): Promise<NonNullable<T>> {
  return (await answerOf(request)).body;
}

/** What an answer is about: its `data`. @throws ApiError */
export const dataOf = async <T extends { readonly data: unknown }>(request: Promise<Answer<T>>): Promise<T['data']> =>
  (await bodyOf(request)).data;

/** The body with its entity tag, for a later change that must not overwrite others' changes. @throws ApiError */
export async function answerOf<T>(request: Promise<Answer<T>>): Promise<{
  readonly body: NonNullable<T>;
  readonly tag: string | null;
}> {
  const { data, error, response } = await request.catch((failure: unknown) => {
    if (failure instanceof DOMException && failure.name === 'AbortError') throw failure;
    throw new ApiError(0, words().noAnswer);
  });
  if (!response.ok) throw errorOf(response, error);
  return { body: data as NonNullable<T>, tag: response.headers.get('ETag') };
}

type Sentences = { readonly [english: string]: string };
const dutchOf = (sentences: Sentences) =>
  Object.entries(sentences).map(([english, dutch]) => [new RegExp(english, 'g'), dutch] as const);
const DUTCH = dutchOf({ ...refusals, ...reasons });
/** Pages that come later bring the sentences that only they show. */
export const addDutch = (sentences: Sentences): unknown => DUTCH.unshift(...dutchOf(sentences));

/** Labels of the standard tables and their fields, by the English ones. */
export const DUTCH_LABELS = new Map(Object.entries(labels));

/** The service speaks English: in Dutch, those of its sentences that people meet. */
export function inWords(sentence: string): string {
  const named = withNameInWords(sentence);
  if (languageNow() === 'en') return named;
  const said = DUTCH.reduce((text, [english, dutch]) => text.replace(english, dutch), named);
  const labelOf = (name: string) => DUTCH_LABELS.get(name.charAt(0).toUpperCase() + name.slice(1)) ?? name;
  return said.replace(/(?<=“)[^”]+/g, labelOf);
}

const DUTCH_REASONS = Object.entries(reasons).map(([en, nl]) => [new RegExp(`(?<=^|: )${en}$`), nl] as const);
const momentText = (at: string): string =>
  new Date(at).toLocaleString(localeOf(languageNow()), { dateStyle: 'medium', timeStyle: 'short' });
export const withTimes = (sentence: string): string => sentence.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, momentText);

/** Why something was not delivered, or who did it. What others say, such as the ERP, stays as it is but for its times. */
export const reasonInWords = (reason: string): string =>
  withTimes(languageNow() === 'en' ? reason : DUTCH_REASONS.reduce((text, [en, nl]) => text.replace(en, nl), reason));

/** It says less than the sentence behind it. */
const TITLE = /^(?:Bad request|Forbidden|Not found|Conflict)\.$/;

function errorOf(response: Response, body: unknown): ApiError {
  const { message, error, errors }: Refusal = isObject(body) ? body : {};
  const said = Object.entries(errors ?? {}).map(([field, sentences]) => [field, sentences.map(inWords)]);
  // A person sees no tags of versions, which are what it speaks about then.
  const parts = response.status === 412 ? [words().changedSince] : [message, errors === undefined ? error : undefined];
  const text = parts.flatMap((part) => (typeof part === 'string' && !TITLE.test(part) ? inWords(part) : [])).join(' ');
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return new ApiError(
    response.status,
    text === '' ? `${response.status} ${response.statusText}` : text,
    Object.fromEntries(said),
    Number.isFinite(seconds) ? seconds : undefined,
  );
}

type Refusal = { readonly message?: unknown; readonly error?: unknown; readonly errors?: ApiError['fields'] };

const words = () => inLanguage(sessionWords, languageNow());
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
