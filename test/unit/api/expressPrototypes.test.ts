import type { RequestListener } from 'node:http';
import express from 'express';
import { startHttpServer, useExpressPrototypes } from '#app/api/listen.js';

test('express finds requests and responses with the prototypes that it would give them', async () => {
  const app = express();
  useExpressPrototypes(app);
  app.get('/', (req, res) => {
    res.json({ protocol: req.protocol, isOfApp: req.app === app && res.app === app });
  });
  const changed: boolean[] = [];
  const listener: RequestListener = (req, res) => {
    const before = [Object.getPrototypeOf(req), Object.getPrototypeOf(res)];
    app(req, res);
    changed.push(Object.getPrototypeOf(req) !== before[0], Object.getPrototypeOf(res) !== before[1]);
  };
  const server = await startHttpServer(listener, { host: '127.0.0.1', port: 0 });
  const answer = await fetch(`http://127.0.0.1:${server.port}/`, { headers: { connection: 'close' } });
  expect(await answer.json()).toEqual({ protocol: 'http', isOfApp: true });
  expect(changed).toEqual([false, false]);
  await server.stop();
});
