/** Signed notes (c2sp.org/signed-note) by Ed25519, and the checkpoints of a tree in them (c2sp.org/tlog-checkpoint). */
import { hash, type KeyObject, sign, verify } from 'node:crypto';
import { HASH_BYTES } from './merkle.js';

/** Characters of a checkpoint with its signatures, of which a verifier must accept 16. */
const MAX_NOTE_CHARACTERS = 10_000;

export type NoteKey = {
  /** No spaces, no plus. */
  readonly name: string;
  readonly publicKey: KeyObject;
};

/** What a checkpoint says: the tree of this log had this root at this size. */
export type Checkpoint = {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
};

/** The text is no note, or no key signed it; the message is a sentence. */
export class InvalidNoteError extends Error {}

const ED25519 = Buffer.of(1);
const ID_BYTES = 4;
const SIGNATURE_LINE = /^— ([^\s+]{1,500}) ([A-Za-z0-9+/]{1,10000}={0,2})$/;

const rawKey = (publicKey: KeyObject): Buffer => Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');

const idOf = ({ name, publicKey }: NoteKey): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), ED25519, rawKey(publicKey)]), 'buffer').subarray(0, ID_BYTES);

/** The key as one word, as Go's `note.NewVerifier` reads it: name, key id in hex, and type with public key in base64. */
export const verifierKey = (key: NoteKey): string =>
  `${key.name}+${idOf(key).toString('hex')}+${Buffer.concat([ED25519, rawKey(key.publicKey)]).toString('base64')}`;

/** @param text ends with a newline */
export function signNote(text: string, signer: NoteKey & { readonly privateKey: KeyObject }): string {
  const signature = Buffer.concat([idOf(signer), sign(null, Buffer.from(text), signer.privateKey)]);
  return `${text}\n— ${signer.name} ${signature.toString('base64')}\n`;
}

/**
 * The text of a note, and the first of the keys that has signed it. Signatures of other keys are ignored.
 * @throws InvalidNoteError
 */
export function openNote(note: string, keys: readonly NoteKey[]): { readonly text: string; readonly key: NoteKey } {
  const end = note.lastIndexOf('\n\n') + 1;
  if (end === 0 || !note.endsWith('\n') || note.length > MAX_NOTE_CHARACTERS)
    throw new InvalidNoteError('This is no signed note.');
  const text = note.slice(0, end);
  const lines = note.slice(end + 1, -1).split('\n');
  let signer: NoteKey | undefined;
  for (const line of lines) {
    const [, name, encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
    if (name === undefined) throw new InvalidNoteError('A line of the note is no signature.');
    const bytes = Buffer.from(encoded, 'base64');
    const key = keys.find((each) => each.name === name && idOf(each).equals(bytes.subarray(0, ID_BYTES)));
    if (key === undefined) continue;
    if (!verify(null, Buffer.from(text), key.publicKey, bytes.subarray(ID_BYTES)))
      throw new InvalidNoteError(`The signature of ${name} is wrong: the note was changed.`);
    signer ??= key;
  }
  if (signer === undefined) throw new InvalidNoteError('None of the known keys has signed the note.');
  return { text, key: signer };
}

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

/** Further lines are extensions, which are left out. @throws InvalidNoteError */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', encoded = ''] = text.split('\n');
  const root = Buffer.from(encoded, 'base64');
  const isOne =
    origin !== '' &&
    /^(0|[1-9]\d{0,14})$/.test(size) &&
    root.length === HASH_BYTES &&
    root.toString('base64') === encoded;
  if (!isOne) throw new InvalidNoteError('The note is no checkpoint.');
  return { origin, size: Number(size), root };
}
