/** The HTTP API as one express application. */
import { setTimeout as wait } from 'node:timers/promises';
import express, { type Express } from 'express';
import type { Commands } from '../commands/context.js';
import { AnswersInFlight } from './answersInFlight.js';
import { Guesses } from './auth/guesses.js';
import { BodiesInWork } from './bodiesInWork.js';
import type { Api, ApiDeps } from './deps.js';
import { errorHandler, unknownPath } from './errors.js';
import { InFlight } from './inFlight.js';
import { ListTurns } from './listTurns.js';
import { openApiWriter } from './openapi/document.js';
import { openRequest } from './requestContext.js';
import type { Area } from './routes/operation.js';
import { areaRouter } from './routes/router.js';
import { areas, healthArea } from './routeTable.js';
import { TokenBuckets } from './tokenBuckets.js';

const LONGEST_REFRESH_MS = 2000;

/** Listens nowhere yet: see `startHttpServer`. */
export const createApi = (deps: ApiDeps): Express => createApp(deps, areas);

/** For a process that serves no clients: health and metrics only. */
export const createHealthApi = (deps: ApiDeps): Express => createApp(deps, [healthArea]);

function createApp(deps: ApiDeps, served: readonly Area[]): Express {
  const { config, log, metrics } = deps;
  const api: Api = {
    ...deps,
    refresh: directoryRefresh(deps.commands),
    lists: new ListTurns(config.lists),
    answers: new AnswersInFlight(),
    bodies: new BodiesInWork(),
    buckets: new TokenBuckets(),
    inFlight: new InFlight(),
    guesses: new Guesses(),
    openApiText: openApiWriter(served),
  };
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('trust proxy', config.trustProxy);
  // Query strings are parsed where they are used, by their own rules (spec §4.3).
  app.set('query parser', false);

  app.use(openRequest(log, metrics));
  for (const area of served) app.use(area.prefix === '' ? '/' : area.prefix, areaRouter(api, area));
  app.use(unknownPath);
  app.use(errorHandler(log));
  return app;
}

/**
 * Makes the function that brings the directory of tenants, clients and users up to the head of the log. For names that are
 * not known here: the command line, or another process, may have made them a moment ago. It resolves when what was in the
 * log at the call is known, or after two seconds. Callers at the same time share one refresh.
 */
function directoryRefresh({ eventStore, directory }: Pick<Commands, 'eventStore' | 'directory'>) {
  let running: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const head = await eventStore.head();
    const known = new AbortController();
    const timeout = wait(LONGEST_REFRESH_MS, undefined, { signal: known.signal }).catch(() => {});
    await Promise.race([directory.waitFor(head), timeout]).finally(() => known.abort());
  }

  return async (): Promise<void> => {
    // A refresh under way may have read the head too early for this caller: wait for it, then share the next one.
    if (running !== undefined) await running;
    running ??= refresh().finally(() => {
      running = undefined;
    });
    await running;
  };
}
