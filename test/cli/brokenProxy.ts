/** A proxy before the service that breaks some of what passes: what an integrator's program has to get through. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of one request. `lost`: the service does it, and its answer does not arrive. */
export type Fault = 'html' | 'cut' | 'expired' | 'busy' | 'lost' | 'hangs';

export class BrokenProxy {
  readonly #server: Server;
  readonly #service: URL;
  /** For the next requests that create an order, one each; undefined: it passes. */
  faults: (Fault | undefined)[] = [];
  /** Of each request that creates an order, its fault and when it came. */
  readonly seen: { readonly fault: Fault | undefined; readonly atMs: number }[] = [];
  tokens = 0;

  private constructor(service: URL) {
    this.#service = service;
    this.#server = createServer((req, res) => this.#pass(req, res));
  }

  static async before(service: URL): Promise<BrokenProxy> {
    const proxy = new BrokenProxy(service);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #pass(req: IncomingMessage, res: ServerResponse): void {
    if (req.url === '/oauth/token') this.tokens += 1;
    const isOrder = req.method === 'POST' && req.url?.endsWith('/dyn_stock_order/assets') === true;
    const fault = isOrder ? this.faults.shift() : undefined;
    if (isOrder) this.seen.push({ fault, atMs: performance.now() });
    switch (fault) {
      case 'html':
        res.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>502 Bad Gateway</h1>');
        return;
      case 'cut':
        req.socket.destroy();
        return;
      case 'expired':
        res.writeHead(401, { 'Content-Type': 'application/json' }).end('{"message":"Unauthenticated."}');
        return;
      case 'busy':
        res.writeHead(429, { 'Retry-After': '1' }).end('{"message":"Too many requests."}');
        return;
      case 'hangs':
        return;
    }
    const { hostname, port } = this.#service;
    const onward = request({ hostname, port, path: req.url, method: req.method, headers: req.headers }, (answer) => {
      if (fault === 'lost') {
        req.socket.destroy();
        return;
      }
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.on('error', () => req.socket.destroy());
    req.pipe(onward);
  }
}
