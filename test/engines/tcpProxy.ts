/** A TCP proxy in front of any engine, by which a test makes the engine silent or cut off. It knows no protocol. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

type Direction = 'requests' | 'answers';

export class TcpProxy {
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** What each frozen direction waits for. */
  readonly #frozen = new Map<Direction, { readonly thawed: Promise<void>; readonly thaw: () => void }>();
  #bytesUntilCut = Number.POSITIVE_INFINITY;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** @param target port of the engine on this machine */
  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * As when the engine's machine hangs: connections stay open, new ones are taken, and nothing comes of them. What was
   * sent meanwhile arrives afterwards.
   */
  freeze(frozen: boolean, directions: readonly Direction[] = ['requests', 'answers']): void {
    for (const direction of directions) {
      this.#frozen.get(direction)?.thaw();
      this.#frozen.delete(direction);
      if (!frozen) continue;
      let thaw = (): void => undefined;
      const thawed = new Promise<void>((resolve) => {
        thaw = resolve;
      });
      this.#frozen.set(direction, { thawed, thaw });
    }
  }

  /** After so many more bytes of answers, the connection that brings them is broken off in the middle of them. */
  cutAfter(bytes: number): void {
    this.#bytesUntilCut = bytes;
  }

  /** Breaks all connections off. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async dispose(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.freeze(false);
    this.cut();
    await closed;
  }

  #accept(client: Socket): void {
    const engine = connect(this.#target, '127.0.0.1');
    for (const socket of [client, engine]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    }
    void this.#pass(client, engine, 'requests');
    void this.#pass(engine, client, 'answers');
  }

  /** Reads no faster than the other side takes it. */
  async #pass(from: Socket, to: Socket, direction: Direction): Promise<void> {
    try {
      for await (const bytes of from) {
        await this.#frozen.get(direction)?.thawed;
        await this.#write(to, bytes, direction);
      }
      to.end();
    } catch {
      // One side was broken off.
      to.destroy();
    }
  }

  async #write(to: Socket, bytes: Buffer, direction: Direction): Promise<void> {
    if (direction === 'answers' && bytes.length > this.#bytesUntilCut) {
      to.write(bytes.subarray(0, this.#bytesUntilCut));
      this.#bytesUntilCut = Number.POSITIVE_INFINITY;
      to.destroySoon();
      return;
    }
    if (direction === 'answers') this.#bytesUntilCut -= bytes.length;
    if (to.write(bytes) || to.destroyed) return;
    await new Promise<void>((resolve) => {
      to.once('drain', resolve).once('close', resolve);
    });
  }
}
