/** Requests as bytes, for what a client library would put right or hide. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { answersIn, type RawAnswer } from '../fuzz/rawConnection.js';

/**
 * Sends bytes over a connection of its own, and reads until the service closes it: the last request says so.
 * @param head lines, without the ends of lines
 */
export async function sendLines(port: number, head: readonly string[], body = ''): Promise<RawAnswer> {
  const [answer] = await sendText(port, `${head.join('\r\n')}\r\n\r\n${body}`, head[0]?.startsWith('HEAD '));
  if (answer === undefined) throw new Error(`There was no answer to ${head[0]}.`);
  return answer;
}

export async function sendText(port: number, text: string, isHead = false): Promise<readonly RawAnswer[]> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(text);
  return answersIn(await buffer(socket), isHead);
}
