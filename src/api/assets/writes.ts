/** Writing records (spec §4.5 to §4.9). Answers when a read shows the write. */
import type { Request, RequestHandler, Response } from 'express';
import { createRecord, updateRecord } from '../../commands/records.js';
import { cleanUpTable } from '../../commands/referenceTables/cleanUp.js';
import { upsertBatch } from '../../commands/referenceTables/upsertBatch.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { settle } from '../afterWrite.js';
import { requireScope } from '../auth/bearer.js';
import type { ApiDeps } from '../deps.js';
import { badRequest } from '../errors.js';
import type { JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { allowedAsset, knownAsset, pathParameter } from './access.js';
import { recordEnvelope } from './envelope.js';
import { parametersOf } from './listQuery.js';

export function createHandler(deps: ApiDeps, readBody: JsonBodyReader): RequestHandler {
  return async (req, res) => {
    const { name } = allowedAsset(req, 'write');
    const body = await readBody(req, res);
    const written = await createRecord(deps.commands, req.context.caller(), name, body);
    await settle(deps, res, written.position);
    res.setHeader('Location', `${req.baseUrl}/${name}/assets/${written.id}`);
    sendJson(res, 201, recordEnvelope(JSON.stringify(written.record)));
  };
}

export function updateHandler(deps: ApiDeps, readBody: JsonBodyReader): RequestHandler {
  return async (req, res) => {
    const { name } = allowedAsset(req, 'write');
    const body = await readBody(req, res);
    const written = await updateRecord(deps.commands, req.context.caller(), name, pathParameter(req, 'id'), body);
    await settle(deps, res, written.position);
    sendJson(res, 200, recordEnvelope(JSON.stringify(written.record)));
  };
}

export function batchHandler(deps: ApiDeps, readBody: JsonBodyReader): RequestHandler {
  return async (req, res) => {
    const { name } = synchronizedAsset(req);
    const dryRun = isDryRun(req);
    const body = await readBody(req, res);
    const { position, counts } = await upsertBatch(deps.commands, req.context.caller(), name, body, { dryRun });
    await settle(deps, res, position);
    const items = counts.created + counts.updated + counts.unchanged;
    const message = dryRun
      ? `Dry run: ${items} items are valid; nothing was written.`
      : `Batch upsert of ${items} items succeeded.`;
    answer(res, { message, ...counts }, dryRun);
  };
}

export function cleanUpHandler(deps: ApiDeps, readBody: JsonBodyReader): RequestHandler {
  return async (req, res) => {
    const { name } = synchronizedAsset(req);
    const dryRun = isDryRun(req);
    const body = await readBody(req, res);
    const { position, deleted } = await cleanUpTable(deps.commands, req.context.caller(), name, body, { dryRun });
    await settle(deps, res, position);
    const message = dryRun
      ? `Dry run: ${deleted} records would be deleted; nothing was.`
      : `Clean-up succeeded: ${deleted} records were deleted.`;
    answer(res, { message, deleted }, dryRun);
  };
}

/** Batch and clean-up need this scope whatever the table is (spec §4.7, §4.8); Master Data is refused by the command. */
function synchronizedAsset(req: Request): AssetType {
  const assetType = knownAsset(req);
  requireScope(req, 'write:reference_data');
  return assetType;
}

/** `?dry_run=true` checks and counts, and writes nothing. */
function isDryRun(req: Request): boolean {
  const value = parametersOf(req.originalUrl).get('dry_run') ?? 'false';
  if (value !== 'true' && value !== 'false') throw badRequest('dry_run must be true or false.');
  return value === 'true';
}

function answer(res: Response, data: object, dryRun: boolean): void {
  sendJson(res, 200, JSON.stringify({ data: dryRun ? { ...data, dry_run: true } : data }));
}
