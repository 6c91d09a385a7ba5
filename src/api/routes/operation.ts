/**
 * What an operation of the API is: method, path, who may call it, what it takes, what it answers, and the function that
 * does it. The router, the 404s and 405s, the check for unknown parameters and the OpenAPI document are made from these.
 */
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Caller } from '../../commands/context.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { User } from '../../domain/identity/events.js';
import { isScope, type Role, type Scope, scopeFor } from '../../domain/identity/scopes.js';
import { CREDENTIALS_BODY_BYTES, RECORD_BODY_BYTES, SETTINGS_BODY_BYTES } from '../../domain/limits.js';
import type { Position } from '../../ports/eventStore.js';
import { mapWithPauses } from '../../supervision/waiting.js';
import type { Encoding } from '../compression.js';
import type { Api } from '../deps.js';
import type { JsonText } from '../jsonAnswer.js';
import type { BodyReader } from '../jsonBody.js';
import type { LongNumbers } from '../jsonScan.js';
import type { ErrorStatus } from '../openapi/errorResponses.js';
import {
  type JsonSchema,
  NO_CONTENT,
  type Parameter,
  type ResponseObject,
  type Responses,
  type Schemas,
} from '../openapi/schema.js';
import type { RefusableHeader } from './refusedHeaders.js';

export const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** The same for all tables, or made for one: that of the path, or the tenant's orders for operations on orders. */
export type PerTable<T> = T | ((assetType: AssetType) => T);

export type QueryParameter = {
  /** `filter[<field>]` stands for every name that begins so; which fields there are is for the list to check. */
  readonly name: string;
  readonly description?: string;
  readonly schema?: JsonSchema;
  /** May be given more than once. */
  readonly repeats?: true;
  /** Name under which the document holds it once for all operations. */
  readonly component?: string;
  /** Instead of a schema: the parameters as the document shows them for a table. */
  readonly ofTable?: (assetType: AssetType) => readonly Parameter[];
};

/** Bytes of a body after decompression, by what it carries. The operator's BODY_LIMIT_BYTES is over all of them. */
export const BODY_LIMITS = {
  credentials: CREDENTIALS_BODY_BYTES,
  settings: SETTINGS_BODY_BYTES,
  record: RECORD_BODY_BYTES,
  batch: Number.POSITIVE_INFINITY,
} as const;
export type BodyLimit = keyof typeof BODY_LIMITS;

export type BodyDescription = {
  readonly schema: PerTable<JsonSchema>;
  readonly example: PerTable<object>;
  /** Left out, it counts as `{}`. */
  readonly optional?: true;
  /** Takes a form (RFC 6749 Appendix B) as well. */
  readonly orForm?: true;
  /** How large it may be; `settings` by default. */
  readonly limit?: BodyLimit;
  /** As text by default. */
  readonly longNumbers?: LongNumbers;
  /** In place of a reader of JSON bodies. */
  readonly read?: BodyReader;
  /** How a body is refused; as JSON bodies are by default. */
  readonly errors?: readonly ErrorStatus[];
};

type Description = {
  /** Operation id; that of a table has the table's name behind it. */
  readonly id: string;
  readonly summary: PerTable<string>;
  readonly description?: PerTable<string>;
  /** Any other name in the query is refused, and one that is given twice; 'any' lets all through. None by default. */
  readonly query?: readonly QueryParameter[] | 'any';
  /** Of the header fields that promise something; with any other of them a request is refused. None by default. */
  readonly honours?: readonly RefusableHeader[];
  readonly body?: BodyDescription;
  /** Of the answer when all goes well; 200 by default. */
  readonly status?: 200 | 201 | 202 | 204 | 302;
  readonly answer: PerTable<ResponseObject>;
  /** Error answers besides those of the area, of who may call, and of the body. */
  readonly errors?: readonly ErrorStatus[];
  /** Answers of this operation alone; they go before the common ones of the same status. */
  readonly answers?: Responses;
};

type Handler<Given> = (api: Api, call: Given) => Reply | Promise<Reply>;

/** Needs no token. */
export type OpenOperation = Description & { readonly allow: 'anyone'; readonly handle: Handler<Call> };

/** For every API client of the tenant. */
export type ClientOperation = Description & { readonly allow: 'clients'; readonly handle: Handler<ClientCall> };

/** On the table `:table`, for API clients with the scope to read or write tables of its kind, or with the scope named. */
export type TableOperation = Description & {
  readonly allow: 'read' | 'write' | Scope;
  /** Whether the document shows it for a table; for all by default. */
  readonly isOffered?: (assetType: AssetType) => boolean;
  /** Where it is not offered, the path has no such method: 405, and `Allow` does not name it. */
  readonly elsewhere?: 405;
  readonly handle: Handler<TableCall>;
};

/** For users of the platform with one of the roles. */
export type UserOperation = Description & {
  readonly allow: RoleGroup;
  /** Also for a user who has to change their password first. */
  readonly withFirstPassword?: true;
  readonly handle: Handler<UserCall>;
};

/** Whether the path of a table has the operation's method. */
export const hasMethodAt = (operation: Operation, assetType: () => AssetType): boolean =>
  !isTableOperation(operation) || operation.elsewhere !== 405 || operation.isOffered?.(assetType()) === true;

export type Operation = OpenOperation | ClientOperation | TableOperation | UserOperation;

export const isTableOperation = (operation: Operation): operation is TableOperation =>
  operation.allow === 'read' || operation.allow === 'write' || isScope(operation.allow);

/** The scope that a token needs for the operation on this table. */
export const scopeOf = ({ allow }: TableOperation, { supportingData }: AssetType): Scope =>
  allow === 'read' || allow === 'write' ? scopeFor(allow, supportingData) : allow;

/** Who of the users may call an operation. */
export const ROLE_GROUPS = {
  users: ['admin', 'validator', 'auditor'],
  validators: ['admin', 'validator'],
  admins: ['admin'],
  adminsAndAuditors: ['admin', 'auditor'],
} as const satisfies { readonly [group: string]: readonly Role[] };

export type RoleGroup = keyof typeof ROLE_GROUPS;

/** What a handler is given. */
export type Call = {
  readonly req: Request;
  readonly res: Response;
  /** Parameters of the path, '' where it has none of that name. */
  readonly path: { readonly table: string; readonly id: string; readonly deliveryId: string };
  readonly query: URLSearchParams;
  /** As parsed from JSON; undefined where the operation takes none. */
  readonly body: unknown;
};

export type ClientCall = Call & {
  readonly caller: Caller;
  readonly tenant: Tenant;
  readonly scopes: ReadonlySet<string>;
};

export type TableCall = Call & { readonly caller: Caller; readonly assetType: AssetType };

export type UserCall = Call & { readonly caller: Caller; readonly tenant: Tenant; readonly user: User };

/** Records of one part of the tenant's. */
export type Changed = {
  /** A reference table's name, or ORDERS. */
  readonly part: string;
  /** One record, or one order with its parts. */
  readonly isFew: boolean;
};

/** Of a reply about many records of one part: reads need not wait for them, the answer does. */
export const manyWritten = (written: Position, part: string): Pick<Reply, 'written' | 'changed'> => ({
  written,
  changed: { part, isFew: false },
});

/** What a handler answers, with the status that its operation names. */
export type Reply = {
  /** Sent as it is. None is needed where the client has what the tag stands for (`heldTag`). */
  readonly body?: JsonText;
  /** The body as it was compressed before; made anew for each answer by default. */
  readonly compressed?: { readonly [encoding in Encoding]: Uint8Array };
  readonly headers?: { readonly [name: string]: string };
  /** Of the record or page that is answered; of what is read, one is made of the bytes where it has none. */
  readonly tag?: string | undefined;
  /** Position of what was written: it is shown by each read that comes after the answer. */
  readonly written?: Position;
  /** What that has changed; unset: anything of the tenant. */
  readonly changed?: Changed;
  /** Where it is not the operation's own. */
  readonly status?: number;
  /** Whether an earlier request with the same Idempotency-Key has done it, and this one nothing. */
  readonly isReplayed?: boolean | undefined;
};

/** `{"data": …}` (spec §2.2). */
export const dataReply = (data: unknown, more: Omit<Reply, 'body'> = {}): Reply => ({
  ...more,
  body: JSON.stringify({ data }),
});

/** `{"data": [ … ]}` of many: made entry by entry, while other requests have their turns. */
export async function listReply<T>(values: Iterable<T>, show: (value: T) => unknown): Promise<Reply> {
  const entries = await mapWithPauses(values, (value) => JSON.stringify(show(value)));
  return { body: `{"data":[${entries.join(',')}]}` };
}

/** What an operation that is answered without a body says and does. */
export const noContent = <Given>(act: (api: Api, call: Given) => unknown) => ({
  status: 204 as const,
  answer: NO_CONTENT,
  async handle(api: Api, call: Given): Promise<Reply> {
    await act(api, call);
    return {};
  },
});

/** Operations that belong together, and the schemas of what they answer. */
export type Resource = {
  readonly tag: string;
  /** Of the parameters in its paths, by the name they have there. */
  readonly pathParameters?: { readonly [name: string]: PathParameter };
  readonly schemas?: Schemas;
  /** By method and path below that of the area, with `:name` for a parameter. */
  readonly operations: { readonly [route: `${Method} /${string}`]: Operation };
};

/** `component` as in `QueryParameter`. */
export type PathParameter = Parameter & { readonly component?: string };

export const pathText = (name: string): PathParameter => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
});

/** Throws an HttpError when the request is refused. */
export type Check = (api: Api, req: Request, res: Response) => void | Promise<void>;

/** Resources below one path, with checks that come before anything else there, whether the path exists or not. */
export type Area = {
  readonly prefix: string;
  /** In the order given. */
  readonly checks: readonly Check[];
  /** Error answers of all its operations. */
  readonly errors: readonly ErrorStatus[];
  readonly resources: readonly Resource[];
  readonly onError?: ErrorRequestHandler;
};

export type Route = ReturnType<typeof routesOf>[number];

/** In the order of the table. */
export const routesOf = ({ resources }: Area) =>
  resources.flatMap((resource) =>
    Object.entries(resource.operations).map(([route, operation]) => {
      const method = METHODS.find((each) => route.startsWith(`${each} `)) ?? 'GET';
      return { method, path: route.slice(method.length + 1), operation, resource };
    }),
  );
