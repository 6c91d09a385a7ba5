/** A workplace with the tenant acme, its API client and a webhook, whose secret shows whether the keys are there. */
import { join } from 'node:path';
import { z } from 'zod';
import { ApiClient, at } from './apiClient.js';
import { type Environment, type RunningCli, Workplace } from './cli.js';

const ITEMS = '/api/v1/dynamic-assets/dyn/dyn_item/assets';
const withClient = z.object({ client: z.object({ client_id: z.string(), client_secret: z.string() }) });

/** What a backup and a restore say of the log. */
export const LOG_PROOF = {
  streams: expect.any(Number),
  appends: expect.any(Number),
  events: expect.any(Number),
  sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
};

export class BackupWorkplace {
  private constructor(
    readonly workplace: Workplace,
    readonly client: z.output<typeof withClient>['client'],
  ) {}

  static async make(environment: Environment = {}): Promise<BackupWorkplace> {
    const workplace = await Workplace.make();
    const made = await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order'], environment);
    const webhook = ['webhook', 'create', '--tenant', 'acme', '--url', 'https://127.0.0.1/hook'];
    await workplace.json(webhook, { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...environment });
    return new BackupWorkplace(workplace, withClient.parse(made).client);
  }

  readonly within = (...path: readonly string[]): string => join(this.workplace.directory, ...path);

  async withApi<T>(service: RunningCli, use: (api: ApiClient) => Promise<T>): Promise<T> {
    const api = new ApiClient(service.origin, 'acme.localhost');
    try {
      await api.useClientCredentials({ clientId: this.client.client_id, clientSecret: this.client.client_secret });
      return await use(api);
    } finally {
      api.close();
    }
  }

  create(api: ApiClient, n: number): Promise<unknown> {
    return api.request('POST', ITEMS, { external_id: `A${n}`, name: `Tea ${n}` });
  }

  total(service: RunningCli): Promise<number> {
    return this.withApi(service, async (api) => Number(at(await api.request('GET', ITEMS), 'meta', 'total')));
  }

  remove(): Promise<void> {
    return this.workplace.remove();
  }
}
