/** What the bare driver of RabbitMQ takes to hand a message over, and an HTTP client to post it to the same receiver. */
import { connect } from 'amqplib';
import { Agent, request } from 'undici';

const QUEUE = 'bench-raw-hand-over';
const BODY = JSON.stringify({ validated_order: { customer_reference: 'PO' }, custom_data: {} });

/** @returns milliseconds from the publish to the arrival, one by one */
export async function rawHandOver(url, receiver, count) {
  const connection = await connect(url);
  const dispatcher = new Agent({ connect: { ca: receiver.certificate } });
  try {
    const channel = await connection.createConfirmChannel();
    await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    await channel.purgeQueue(QUEUE);
    const { consumerTag } = await channel.consume(QUEUE, async (message) => {
      const { body } = await request(receiver.url, { method: 'POST', body: message.content, dispatcher });
      await body.dump();
      channel.ack(message);
    });
    const times = [];
    for (let n = 0; n < count; n++) {
      const start = performance.now();
      const arrival = receiver.next();
      channel.sendToQueue(QUEUE, Buffer.from(BODY), { persistent: true });
      await channel.waitForConfirms();
      times.push((await arrival).receivedAt - start);
    }
    await channel.cancel(consumerTag);
    await channel.deleteQueue(QUEUE);
    return times;
  } finally {
    await connection.close();
    await dispatcher.close();
  }
}
