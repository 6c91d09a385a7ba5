import { Metadata, type status } from '@grpc/grpc-js';

export type Refusal = ReturnType<typeof failure>;

/** The end of a call as the server says it: what happened is named in its metadata. */
export function failure(
  code: status,
  exception: string,
  more: Readonly<Record<string, string>> = {},
  details: string = exception,
) {
  const metadata = new Metadata();
  if (exception !== '') metadata.set('exception', exception);
  for (const [name, value] of Object.entries(more)) metadata.set(name, value);
  return { code, metadata, details, name: 'ServiceError', message: details };
}
