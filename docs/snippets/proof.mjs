// Is the event in the log, as a signed checkpoint says? Reads the answer of GET …/platform/audit/proof from standard
// input, and prints the event; exit code 0 means yes, 1 no.
//   node proof.mjs "$(cat key)" < proof.json
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
const leafHash = (leaf) => sha256(Buffer.of(0), leaf);
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right);
const base64 = (text) => Buffer.from(text, 'base64');

/** The root that the inclusion proof leads to (RFC 9162 §2.1.3.2). */
function rootOf(leaf, index, size, path) {
  let [at, last, root] = [index, size - 1, leaf];
  for (const sibling of path) {
    if (last === 0) throw new Error('The proof is too long.');
    if (at % 2 === 1 || at === last) {
      root = nodeHash(sibling, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else root = nodeHash(root, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Error('The proof is too short.');
  return root;
}

/** Whether this key has signed the note (c2sp.org/signed-note). */
function isSigned(text, lines, key) {
  const [, name, id, encoded] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(key) ?? [];
  const typed = base64(encoded ?? '');
  if (typed[0] !== 1 || sha256(Buffer.from(`${name}\n`), typed).toString('hex', 0, 4) !== id) return false;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: typed.subarray(1).toString('base64url') };
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  return lines.some((line) => {
    const [dash, by, signature] = line.split(' ');
    const bytes = base64(signature ?? '');
    const isOurs = dash === '—' && by === name && bytes.toString('hex', 0, 4) === id;
    return isOurs && verify(null, Buffer.from(text), publicKey, bytes.subarray(4));
  });
}

function check(key, { leaf, proof }) {
  const [head, checkpoint, signatures] = proof.split('\n\n');
  const [version, place, ...path] = head.split('\n');
  if (version !== 'c2sp.org/tlog-proof@v1' || !place.startsWith('index ')) throw new Error('This is no proof.');
  const [origin, size, root] = checkpoint.split('\n');
  if (origin !== key.split('+')[0] || !isSigned(`${checkpoint}\n`, signatures.split('\n'), key))
    throw new Error('The key has not signed the checkpoint.');
  const index = Number(place.slice(6));
  const found = rootOf(leafHash(Buffer.from(leaf)), index, Number(size), path.map(base64));
  if (index >= Number(size) || !found.equals(base64(root))) throw new Error('The event is not in the log that was signed.');
}

try {
  const { data } = JSON.parse(readFileSync(0, 'utf8'));
  check(process.argv[2] ?? '', data);
  console.log(data.leaf);
} catch (error) {
  console.error(String(error.message));
  process.exitCode = 1;
}
