import { RabbitMqServer } from './rabbitmq.js';
test('x', async () => {
  let t = Date.now();
  const s = await RabbitMqServer.start();
  console.log('start', Date.now()-t, s.url);
  const amqp = await import('amqplib');
  const m = await amqp.connect(s.url);
  const ch = await m.createConfirmChannel();
  t = Date.now();
  for (let i=0;i<22;i++) { const d=Date.now(); await ch.assertQueue('q'+i, {arguments: {'x-queue-type':'quorum'}}); if(i<3||i==21) console.log('declare', Date.now()-d); }
  console.log('22 quorum', Date.now()-t);
  t = Date.now();
  for (let i=0;i<22;i++) { await ch.assertQueue('q'+i, {arguments: {'x-queue-type':'quorum'}}); }
  console.log('22 quorum re', Date.now()-t);
  t = Date.now();
  for (let i=0;i<22;i++) { await ch.assertExchange('e'+i, 'topic'); await ch.bindQueue('q'+i,'e'+i,'#.1'); if (i) await ch.bindExchange('e'+(i-1),'e'+i,'#.0'); }
  console.log('22 exch', Date.now()-t);
  t = Date.now();
  for (let i=0;i<22;i++) { await ch.assertQueue('c'+i, {}); }
  console.log('22 classic', Date.now()-t);
  await m.close();
  t = Date.now(); await s.kill(); console.log('kill', Date.now()-t);
  t = Date.now(); await s.start(); console.log('restart', Date.now()-t);
  t = Date.now(); await s.control('set_vm_memory_high_watermark', 'absolute', '1KB'); console.log('ctl', Date.now()-t);
  t = Date.now(); await s.dispose(); console.log('dispose', Date.now()-t);
}, 120000);
