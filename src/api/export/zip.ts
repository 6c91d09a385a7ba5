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

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
/** 2.0: deflate. Made on Unix, for the mode. */
const VERSION = 20;
const MADE_BY = (3 << 8) | VERSION;
const UTF8_NAMES = 1 << 11;
const DEFLATED = 8;
const MODE = 0o100644;
const MAX_FILES = 0xffff;
/** Leaves room for the directory at the end. */
const MAX_BYTES = 0x7fffffff;

/** The archive would have more files or bytes than the format has room for. */
export class ArchiveTooLargeError extends Error {
  override readonly name = 'ArchiveTooLargeError';
}

/** A file that is being made. */
export class ZipFile {
  readonly name: string;
  readonly #compressed: Buffer[] = [];
  #open: Buffer[] = [];
  #openBytes = 0;
  #crc = 0;
  #size = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Compressed so far. */
  get bytes(): number {
    return this.#compressed.reduce((sum, { length }) => sum + length, 0);
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
  async end() {
    await this.#compress();
    this.#compressed.push(LAST_BLOCK);
    return { name: this.name, crc: this.#crc, size: this.#size, bytes: this.bytes, compressed: this.#compressed };
  }

  async #compress(): Promise<void> {
    const piece = Buffer.concat(this.#open);
    this.#open = [];
    this.#openBytes = 0;
    this.#crc = crc32(piece, this.#crc);
    this.#size += piece.length;
    this.#compressed.push(await deflate(piece, OPEN));
  }
}

/** Joins small pieces, of which an archive has several for each file. */
export async function* joinedPieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, void> {
  let open: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    open.push(piece);
    bytes += piece.length;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(open);
    open = [];
    bytes = 0;
  }
  yield Buffer.concat(open);
}

/** Names are ours, so nothing of what users wrote becomes a path. */
export class ZipArchive {
  readonly #at: number;
  readonly #directory: Buffer[] = [];
  #offset = 0;

  /** @param at the time of all files */
  constructor(at: Date) {
    this.#at = dosTime(at);
  }

  /** @returns the bytes of a whole file, which follow those before. @throws ArchiveTooLargeError */
  async add(file: ZipFile): Promise<readonly Buffer[]> {
    const { name, crc, size, bytes, compressed } = await file.end();
    const encoded = Buffer.from(name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(LOCAL_HEADER, 0);
    local.writeUInt16LE(VERSION, 4);
    if (this.#directory.length === MAX_FILES || size > MAX_BYTES || this.#offset + bytes > MAX_BYTES)
      throw new ArchiveTooLargeError('The export is larger than a ZIP archive can be.');
    this.#describe(local, 6, { crc, size, bytes, name: encoded.length });
    const central = Buffer.alloc(46);
    central.writeUInt32LE(CENTRAL_HEADER, 0);
    central.writeUInt16LE(MADE_BY, 4);
    central.writeUInt16LE(VERSION, 6);
    this.#describe(central, 8, { crc, size, bytes, name: encoded.length });
    central.writeUInt32LE(MODE * 2 ** 16, 38);
    central.writeUInt32LE(this.#offset, 42);
    this.#directory.push(Buffer.concat([central, encoded]));
    this.#offset += local.length + encoded.length + bytes;
    return [local, encoded, ...compressed];
  }

  /** @returns the last bytes. */
  end(): Buffer {
    const directory = Buffer.concat(this.#directory);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(END_OF_DIRECTORY, 0);
    end.writeUInt16LE(this.#directory.length, 8);
    end.writeUInt16LE(this.#directory.length, 10);
    end.writeUInt32LE(directory.length, 12);
    end.writeUInt32LE(this.#offset, 16);
    return Buffer.concat([directory, end]);
  }

  /** What both headers have, at the same distances from each other. */
  #describe(
    header: Buffer,
    at: number,
    {
      crc,
      size,
      bytes,
      name,
    }: { readonly crc: number; readonly size: number; readonly bytes: number; readonly name: number },
  ): void {
    header.writeUInt16LE(UTF8_NAMES, at);
    header.writeUInt16LE(DEFLATED, at + 2);
    header.writeUInt32LE(this.#at, at + 4);
    header.writeUInt32LE(crc, at + 8);
    header.writeUInt32LE(bytes, at + 12);
    header.writeUInt32LE(size, at + 16);
    header.writeUInt16LE(name, at + 20);
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
