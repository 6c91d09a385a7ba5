/** A server that writes as much as a create does to a file of its own, flushes it and answers. Its port is its output. */
import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const BYTES = Buffer.alloc(8_192, 1);
/** Written over and over, as a write-ahead log is. */
const PLACES = 500;

const file = openSync(process.argv[2], 'w');
for (let place = 0; place < PLACES; place++) writeSync(file, BYTES);
fdatasyncSync(file);

let writes = 0;
const server = createServer((req, res) => {
  req.resume().on('end', () => {
    writeSync(file, BYTES, 0, BYTES.length, (writes++ % PLACES) * BYTES.length);
    fdatasyncSync(file);
    res.end('{}');
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(String(server.address().port)));
