/** Orders created and approved at once, however often the service dies meanwhile. */
import { approve } from '../acceptance/export.js';
import type { TenantClient } from '../acceptance/tenant.js';
import type { UnreliableReceiver } from './unreliableReceiver.js';

const WRITERS = 4;
/** Writers wait while more deliveries than this are behind, so that orders are written until the end. */
const BACKLOG = 100;

export class DeliveryWork {
  /** Orders whose approval was acknowledged. */
  readonly approved: string[] = [];
  readonly #tenant: TenantClient;
  readonly #receiver: UnreliableReceiver;
  /** Resolves when the service is up, as far as is known. */
  #up: Promise<void> = Promise.resolve();

  constructor(tenant: TenantClient, receiver: UnreliableReceiver) {
    this.#tenant = tenant;
    this.#receiver = receiver;
  }

  /** Lets the writers wait until this has come to an end. */
  async during(outage: () => Promise<void>): Promise<void> {
    const ended = outage();
    // The caller that started the outage gets its error.
    this.#up = ended.catch(() => undefined);
    await ended;
  }

  /** Resolves when so many approvals were acknowledged. @param sure deliveries that each of them surely leads to */
  async run(approvals: number, sure: number): Promise<void> {
    const writer = async (): Promise<void> => {
      while (this.approved.length < approvals) {
        await this.#receiver.seen(this.approved.length * sure - BACKLOG);
        await this.#up;
        await this.#approveOne();
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  }

  async #approveOne(): Promise<void> {
    try {
      const order = { customer_reference: 'PO', processing_status: 'validated' };
      const { id } = await this.#tenant.create('dyn_stock_order', order);
      await approve(this.#tenant, id);
      this.approved.push(id);
    } catch (error) {
      if (error instanceof Error && error.name === 'UnexpectedAnswer') throw error;
      // The service died under it: whether the approval happened is for the log to tell.
    }
  }
}
