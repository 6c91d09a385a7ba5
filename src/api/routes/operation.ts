/**
 * An operation of the API: method, path, who may call it, its input, its answer, and its handler. The router, the 404s
 * and 405s, the check of parameters and the OpenAPI document are made from these.
 */
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { TableWrite } from '../../commands/application.js';
import type { Caller } from '../../commands/context.js';
import { assetTypeOf } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { User } from '../../domain/identity/events.js';
import { type Permission, scopeFor } from '../../domain/identity/scopes.js';
import { CREDENTIALS_BODY_BYTES, RECORD_BODY_BYTES, SETTINGS_BODY_BYTES } from '../../domain/limits.js';
import type { Quota } from '../../domain/quotas.js';
import type { Position } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import type { WorkKind } from '../admission.js';
import type { Api } from '../deps.js';
import { forbidden, notFound } from '../errors.js';
import type { AnswerBody } from '../jsonAnswer.js';
import type { BodyReader } from '../jsonBody.js';
import { type JsonSchema, NO_CONTENT, type Parameter, type ResponseObject, type Schemas } from '../openapi/schema.js';

export const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** A value, or a function of the table of the tenant's orders. */
export type PerTable<T> = T | ((assetType: AssetType) => T);

export type QueryParameter = {
  /** `filter[<field>]` stands for all names with that prefix; the list's handler checks the field. */
  readonly name: string;
  readonly description?: string;
  readonly schema?: JsonSchema;
  /** For the document; the handler refuses its lack. */
  readonly required?: true;
  /** Documents the parameters for the tenant's tables, instead of `schema`. */
  readonly ofTables?: (tables: readonly AssetType[]) => readonly Parameter[];
};

/** Limits in bytes after decompression, by kind of body. The operator's BODY_LIMIT_BYTES caps all of them. */
export const BODY_LIMITS = {
  credentials: CREDENTIALS_BODY_BYTES,
  settings: SETTINGS_BODY_BYTES,
  record: RECORD_BODY_BYTES,
  batch: Number.POSITIVE_INFINITY,
} as const;
type BodyLimit = keyof typeof BODY_LIMITS;

export type BodyDescription = {
  readonly schema: PerTable<JsonSchema>;
  readonly example: object;
  /** If absent, the body is `{}`. */
  readonly optional?: true;
  /** Size limit; `settings` by default. */
  readonly limit?: BodyLimit;
  /** Replaces the reader of JSON bodies. */
  readonly read?: BodyReader;
};

export type RequestHeader = 'if-match' | 'idempotency-key';

export const TABLE_KINDS = {
  Table: () => true,
  ReferenceTable: ({ role }) => role === 'reference',
  OrderTable: ({ role }) => role === 'order',
  PartTable: ({ role }) => role === 'part',
} satisfies { readonly [kind: string]: (assetType: AssetType) => boolean };
type TableKind = keyof typeof TABLE_KINDS;

/** Quotas that a change of data uses up. */
export const CHANGES: readonly Quota[] = ['logBytes'];
export const CREATES: readonly Quota[] = [...CHANGES, 'records'];

type Kind = Pick<AssetType, 'supportingData'>;
/** Of an operation on `:table`: for tables of its kind. */
type Allowed = 'anyone' | Permission | ((assetType: Kind) => Permission);

/** The scopes that clients need. Auditors have those to read. */
export const READ = ({ supportingData }: Kind): Permission => scopeFor('read', supportingData);
export const WRITE = ({ supportingData }: Kind): Permission => scopeFor('write', supportingData);
/** Of an operation that writes Reference Data as a whole. */
export const OF_REFERENCE_DATA = { allow: 'write:reference_data', tables: 'ReferenceTable' } as const;
/** The people who change it. */
export const EDIT = ({ supportingData }: Kind): Permission => (supportingData ? 'admins' : 'validators');

export type Operation = {
  /** What the caller needs. */
  readonly allow: Allowed;
  /** Of an operation of clients on `:table`: the tables that it is for. */
  readonly tables?: TableKind;
  /** Also for a user who must change their password first. */
  readonly withFirstPassword?: true;
  /** Operation id. */
  readonly id: string;
  /** What programs and people outside read; the operator's console needs none. */
  readonly summary?: string;
  readonly description?: string;
  /** Any other parameter is refused, and one that occurs twice; 'any' allows all. None by default. */
  readonly query?: readonly QueryParameter[] | 'any';
  /** Of these header fields, those that the operation acts on; another one is refused. None by default. */
  readonly headers?: readonly RequestHeader[];
  /** Such work waits for its turn, as a write with a large body does in any case. */
  readonly work?: WorkKind;
  /** Quotas that it uses up: beyond one of them it is refused with 507. What frees or only reports something has none. */
  readonly grows?: readonly Quota[];
  readonly body?: BodyDescription;
  /** Status of success; 200 by default. */
  readonly status?: 200 | 201 | 202 | 204 | 302;
  readonly answer: PerTable<ResponseObject>;
  readonly handle: Handler;
};

/** @param cancellation of work that has a time limit of its own, or else the request's */
export type Handler = (api: Api, call: Call, cancellation: Cancellation) => Reply | Promise<Reply>;

/** The asset type of `:table`. @throws NotFoundError if the tenant has none of this name */
export const knownAsset = ({ params, context }: Request): AssetType =>
  assetTypeOf(context.tenant, String(params.table));

/** What the caller needs for the operation, on this table; undefined if nothing. */
export const permissionOn = ({ allow }: Operation, assetType: () => Kind): Permission | undefined =>
  typeof allow === 'function' ? allow(assetType()) : allow === 'anyone' ? undefined : allow;

/** What a handler gets: the request, its input, and who sent it. */
export class Call {
  /** @param body parsed JSON; undefined if the operation takes none */
  constructor(
    private readonly api: Api,
    readonly req: Request,
    readonly res: Response,
    readonly query: URLSearchParams,
    readonly body: unknown,
  ) {}

  /** Path parameters; '' if the path has none of that name. @throws HttpError 404 for a NUL character: nothing has such a name */
  get path(): { readonly table: string; readonly id: string; readonly deliveryId: string } {
    const { params, path } = this.req;
    const of = (name: string): string => {
      const value = params[name];
      if (typeof value !== 'string') return '';
      if (value.includes('\0')) throw notFound(`There is nothing at ${path}.`);
      return value;
    };
    return { table: of('table'), id: of('id'), deliveryId: of('deliveryId') };
  }

  get caller(): Caller {
    return this.req.context.caller();
  }

  get tenant(): Tenant {
    return this.req.context.tenant;
  }

  /** Undefined for an API client, and for an operator. */
  get user(): User | undefined {
    return this.req.context.principal?.user;
  }

  /** The user of an operation that API clients do not have. @throws HttpError 403 */
  get person(): User {
    if (this.user === undefined) throw forbidden('This is for users of the platform.');
    return this.user;
  }

  get permissions(): ReadonlySet<Permission> {
    return this.req.context.principal?.permissions ?? new Set();
  }

  /** The name of the operator. */
  get operator(): string {
    return this.req.context.actor.id;
  }

  /** What is written to `:table`, for commands. @throws NotFoundError */
  get tableWrite(): TableWrite {
    return { commands: this.api.commands, caller: this.caller, assetType: this.assetType };
  }

  /** The asset type of `:table`, with the fields that it has now. @throws NotFoundError if the tenant has none of this name */
  get assetType(): AssetType {
    const known = knownAsset(this.req);
    return this.api.directory.tenant(this.tenant.name)?.assetTypes.get(known.name) ?? known;
  }
}

/** A handler's answer. */
export type Reply = {
  /** Sent as it is. */
  readonly body?: AnswerBody;
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Of the record. A read without one gets a tag of its bytes. */
  readonly tag?: string | undefined;
  /** Position of what was written. All reads after the answer show it. */
  readonly written?: Position;
  /** Overrides the operation's status. */
  readonly status?: number;
  /** Whether this request did nothing, since an earlier one with the same Idempotency-Key did the work. */
  readonly isRepeated?: boolean | undefined;
};

/** `{"data": …}` (spec §2.2). */
export const dataReply = (data: unknown, more: Omit<Reply, 'body'> = {}): Reply => ({
  ...more,
  body: JSON.stringify({ data }),
});

/** `{"data": [ … ]}` */
export const listReply = <T>(values: Iterable<T>, show: (value: T) => unknown): Reply =>
  dataReply([...values].map((value) => show(value)));

/** The parts of an operation that answers without a body. */
export const noContent = (act: (api: Api, call: Call) => unknown) => ({
  status: 204 as const,
  answer: NO_CONTENT,
  async handle(api: Api, call: Call): Promise<Reply> {
    await act(api, call);
    return {};
  },
});

/** Operations that belong together, and the schemas of their answers. */
export type Resource = {
  readonly tag: string;
  /** Path parameters by their names in the routes. */
  readonly pathParameters?: { readonly [name: string]: Parameter };
  readonly schemas?: Schemas;
  /** By method and path below the area's prefix; `:name` is a parameter. */
  readonly operations: { readonly [route: `${Method} /${string}`]: Operation };
};

export const pathText = (name: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
});

/** `:id` of a record. */
export const RECORD_ID: Parameter = {
  name: 'asset_id',
  in: 'path',
  required: true,
  schema: { type: 'string', format: 'uuid' },
};

/** Throws HttpError to refuse the request. */
export type Check = (api: Api, req: Request, res: Response) => void | Promise<void>;

/** What lies below one prefix. */
export type Area = {
  readonly prefix: string;
  /** In front of the ids and tags of its operations. */
  readonly name?: 'platform' | 'operator';
  /** Run in this order before the resources are looked through, and so whether the path exists or not. */
  readonly checks: readonly Check[];
  /** The first matching path wins. */
  readonly resources: readonly Resource[];
  /** Looked through after those; its checks run after those above, and want a session. */
  readonly signedIn?: Pick<Area, 'checks' | 'resources'>;
  readonly onError?: ErrorRequestHandler;
};

export type Route = ReturnType<typeof routesOf>[number];

/** In the order of the table. */
export const routesOf = ({ name, resources, signedIn }: Pick<Area, 'name' | 'resources' | 'signedIn'>) =>
  [...resources, ...(signedIn?.resources ?? [])].flatMap((resource) =>
    Object.entries(resource.operations).map(([route, operation]) => {
      const method = METHODS.find((each) => route.startsWith(`${each} `)) ?? 'GET';
      const { id } = operation;
      const names =
        name === undefined
          ? { id, tag: resource.tag }
          : { id: `${name}${id.charAt(0).toUpperCase()}${id.slice(1)}`, tag: `${name}: ${resource.tag}` };
      return { method, path: route.slice(method.length + 1), operation, resource, ...names };
    }),
  );
