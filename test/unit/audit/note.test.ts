import { createPrivateKey, createPublicKey } from 'node:crypto';
import { checkpointText, InvalidNoteError, openNote, parseCheckpoint, signNote, verifierKey } from '#app/audit/note.js';

/** The key and the note of the documentation of Go's `golang.org/x/mod/sumdb/note`. */
const KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const SECRET = 'AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz';
const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const NOTE = `${TEXT}
— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;

function signer(name: string) {
  const seed = Buffer.from(SECRET, 'base64').subarray(1);
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  return { name, privateKey, publicKey: createPublicKey(privateKey) };
}

test('signed-note: key, id and signature are those of the reference', () => {
  const peter = signer('PeterNeumann');
  expect(verifierKey(peter)).toBe(KEY);
  expect(signNote(TEXT, peter)).toBe(NOTE);
  expect(openNote(NOTE, [signer('PeterNeumann')]).text).toBe(TEXT);
});

test('signed-note: signatures of unknown keys are ignored, a wrong one of a known key is not', () => {
  const key = signer('PeterNeumann');
  const enoch =
    '— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n';
  expect(openNote(`${NOTE}${enoch}`, [key]).text).toBe(TEXT);
  const without = `${TEXT}\n${enoch}`;
  expect(() => openNote(without, [key])).toThrow('None of the known keys has signed the note.');
  expect(() => openNote(NOTE.replace('don', 'do n'), [key])).toThrow('The signature of PeterNeumann is wrong');
  // The same key under another name has another id.
  expect(() => openNote(NOTE, [signer('Peter')])).toThrow(InvalidNoteError);
});

test.each([
  ['nothing', ''],
  ['a text alone', TEXT],
  ['no newline at the end', NOTE.slice(0, -1)],
  ['a line that is no signature', `${NOTE}PeterNeumann\n`],
])('signed-note: %s is no signed note', (_what, note) => {
  expect(() => openNote(note, [signer('PeterNeumann')])).toThrow(InvalidNoteError);
});

test('tlog-checkpoint: origin, size and root, each on a line', () => {
  // The example of the specification.
  const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
  const checkpoint = parseCheckpoint(text);
  expect(checkpoint).toMatchObject({ origin: 'example.com/behind-the-sofa', size: 20_852_163 });
  expect(checkpointText(checkpoint)).toBe(text);
  for (const wrong of [
    '',
    'a\n',
    text.replace('2085', '02085'),
    text.replace('CsUY', 'sUY'),
    text.replace('2I=', '2J='),
  ])
    expect(() => parseCheckpoint(wrong)).toThrow('The note is no checkpoint.');
});
