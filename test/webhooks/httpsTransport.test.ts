import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createHttpsTransport, type TransportOptions, type WebhookTransport } from '#app/webhooks/httpsTransport.js';
import { addressPolicy } from '#app/webhooks/targetAddress.js';
import { Receiver, type Reply } from '../acceptance/receiver.js';
import { scaled } from '../engines/timeScale.js';

const allowLoopback = addressPolicy(['127.0.0.0/8']);
const strict = addressPolicy([]);

describe('a call to a receiver', () => {
  let receiver: Receiver;
  let transport: WebhookTransport;

  beforeEach(async () => {
    receiver = await Receiver.start();
    answer(() => ({ status: 200, body: 'thanks' }));
  });

  afterEach(async () => {
    await receiver.stop();
    await transport.close();
  });

  const open = (options: Partial<TransportOptions> = {}): WebhookTransport => {
    transport = createHttpsTransport({ policy: allowLoopback, caPem: receiver.caPem, ...options });
    return transport;
  };

  const answer = (reply: Reply) => receiver.reply('/orders', reply);
  const post = (url = receiver.url('/orders')) =>
    transport.post({
      url,
      headers: { 'Content-Type': 'application/json', Signature: 'abc' },
      body: Buffer.from('{"a":"ż"}'),
    });

  test('a certificate that nobody vouches for is a failure', async () => {
    transport = createHttpsTransport({ policy: allowLoopback });
    expect(await post()).toMatchObject({ ok: false, status: null, reason: expect.stringMatching(/self.signed/i) });
    expect(receiver.calls('/orders')).toEqual([]);
  });

  test('plain HTTP is not spoken', async () => {
    open();
    expect(await post(`http://127.0.0.1:${receiver.port}/`)).toMatchObject({ ok: false, status: null });
    expect(receiver.connections).toBe(0);
  });

  test.each(['127.0.0.1', '0x7f.1', '017700000001', '2130706433', '[::ffff:127.0.0.1]', '[::1]', 'localhost'])(
    'https://%s is refused before a connection is made',
    async (host) => {
      open({ policy: strict });
      const result = await post(`https://${host}:${receiver.port}/`);
      expect(result).toMatchObject({
        ok: false,
        status: null,
        reason: expect.stringContaining('refused'),
        cause: 'refused_address',
      });
      expect(receiver.connections).toBe(0);
    },
  );
});

describe('a receiver that accepts and then says nothing', () => {
  let server: Server;

  afterEach(() => server.close());

  test('is given up after the connect time, well before the total time', async () => {
    server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const transport = createHttpsTransport({ policy: allowLoopback, connectTimeoutMs: 200, totalTimeoutMs: 15_000 });
    const result = await transport.post({ url: `https://127.0.0.1:${port}/`, headers: {}, body: Buffer.from('{}') });
    expect(result).toMatchObject({
      ok: false,
      status: null,
      reason: expect.stringContaining('no connection within 200 ms'),
      cause: 'timeout',
    });
    expect(result.durationMs).toBeLessThan(scaled(5000));
    await transport.close();
  });
});
