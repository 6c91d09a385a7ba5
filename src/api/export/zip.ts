/**
 * Files in a ZIP archive (APPNOTE.TXT 6.3.10), compressed piece by piece while they are made: of a file only its compressed
 * bytes are in memory. Without ZIP64, so an archive has at most 2 GB and 65,535 files.
 */
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

const deflate = promisify(deflateRaw);

/** Bytes that are compressed together. */
const PIECE_BYTES = 262_144;
/** Pieces end at a byte, and none is the last block (RFC 1951 §3.2.3)... */
const OPEN = { level: 6, finishFlush: constants.Z_SYNC_FLUSH } as const;
/** ...so an empty one ends the file. */
const LAST_BLOCK = Buffer.of(3, 0);

/** 2.0: deflate. Made on Unix, for the mode. */
const VERSION = 20;
const MADE_BY = (3 << 8) | VERSION;
const UTF8_NAMES = 1 << 11;
const DEFLATED = 8;
const MODE = 0o100644;
const MAX_FILES = 0xffff;
/** Leaves room for the directory at the end. */
const MAX_BYTES = 0x7fffffff;

/** The archive would have more files or bytes than it may have. */
export class ArchiveTooLargeError extends Error {
  override readonly name = 'ArchiveTooLargeError';
}

/** A file that is being made. */
export class ZipFile {
  readonly name: string;
  readonly compressed: Buffer[] = [];
  /** Compressed so far. */
  bytes = 0;
  crc = 0;
  size = 0;
  #open: Buffer[] = [];
  #openBytes = 0;

  constructor(name: string) {
    this.name = name;
  }

  async write(...pieces: readonly (string | Uint8Array)[]): Promise<void> {
    for (const piece of pieces) {
      const bytes = Buffer.from(piece);
      this.#open.push(bytes);
      this.#openBytes += bytes.length;
      if (this.#openBytes >= PIECE_BYTES) await this.#compress();
    }
  }

  /** No more is written. */
  async end(): Promise<void> {
    await this.#compress();
    this.#add(LAST_BLOCK);
  }

  async #compress(): Promise<void> {
    const piece = Buffer.concat(this.#open);
    this.#open = [];
    this.#openBytes = 0;
    this.crc = crc32(piece, this.crc);
    this.size += piece.length;
    this.#add(await deflate(piece, OPEN));
  }

  #add(compressed: Buffer): void {
    this.compressed.push(compressed);
    this.bytes += compressed.length;
  }
}

/** Unsigned integers, each with its number of bytes. */
function record(...fields: readonly (readonly [value: number, bytes: number])[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [, bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [value, bytes] of fields) at = buffer.writeUIntLE(value, at, bytes);
  return buffer;
}

/** Names are ours, so nothing of what users wrote becomes a path. */
export class ZipArchive {
  readonly #at: number;
  readonly #directory: Buffer[] = [];
  #files = 0;
  #offset = 0;

  /** @param at the time of all files */
  constructor(at: Date) {
    this.#at = dosTime(at);
  }

  /** @returns the bytes of a whole file, which follow those before. @throws ArchiveTooLargeError */
  async add(file: ZipFile): Promise<readonly Buffer[]> {
    await file.end();
    const { crc, size, bytes, compressed } = file;
    if (this.#files === MAX_FILES || size > MAX_BYTES || this.#offset + bytes > MAX_BYTES)
      throw new ArchiveTooLargeError('The export is larger than a ZIP archive can be.');
    const name = Buffer.from(file.name);
    const described = [
      [VERSION, 2],
      [UTF8_NAMES, 2],
      [DEFLATED, 2],
      [this.#at, 4],
      [crc, 4],
      [bytes, 4],
      [size, 4],
      [name.length, 2],
      [0, 2],
    ] as const;
    const local = record([0x04034b50, 4], ...described);
    // No comment, the first disk, no attributes within.
    const central = record([0x02014b50, 4], [MADE_BY, 2], ...described, [0, 6], [MODE * 2 ** 16, 4], [this.#offset, 4]);
    this.#directory.push(central, name);
    this.#files += 1;
    this.#offset += local.length + name.length + bytes;
    return [local, name, ...compressed];
  }

  /** @returns the last bytes. */
  end(): Buffer {
    const directory = Buffer.concat(this.#directory);
    const files = [this.#files, 2] as const;
    const end = record([0x06054b50, 4], [0, 4], files, files, [directory.length, 4], [this.#offset, 4], [0, 2]);
    return Buffer.concat([directory, end]);
  }
}

/** Date and time of MS-DOS, UTC, in steps of two seconds. */
const dosTime = (at: Date): number =>
  (((at.getUTCFullYear() - 1980) << 25) |
    ((at.getUTCMonth() + 1) << 21) |
    (at.getUTCDate() << 16) |
    (at.getUTCHours() << 11) |
    (at.getUTCMinutes() << 5) |
    (at.getUTCSeconds() >> 1)) >>>
  0;
