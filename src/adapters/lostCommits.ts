/**
 * Whether a write-ahead log of SQLite lost commits in its middle. SQLite reads it up to the first invalid frame, and ignores
 * the rest as the remains of a crash. A crash leaves at most one commit there, its last: a power cut may have kept the commit's
 * end without its beginning, and the commit that followed a kill may be shorter than the one it overwrote. If more commits
 * follow, the frame was damaged later, and some of the frames after it may have been copied into the database.
 *
 * The file alone is read, without a lock, so other processes go on writing. It never takes them for damage: they write frames
 * in order, so an invalid frame before a commit that was read is read again; and they start the log over with a new header.
 *
 * Format: https://www.sqlite.org/fileformat2.html#walformat
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errorCode } from '../supervision/errorCode.js';

const HEADER = 32;
const FRAME_HEADER = 24;
/** The last bit is set if checksums are made of big-endian words. */
const MAGIC = 0x377f0682;
const PAGE_SIZES: readonly number[] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
const COMMITS_OF_A_CRASH = 1;

type Checksum = readonly [first: number, second: number];

type Header = {
  readonly bytes: Buffer;
  readonly pageSize: number;
  readonly isBigEndian: boolean;
  /** Each frame has them; they are others after each start over. */
  readonly salts: Buffer;
  readonly checksum: Checksum;
};

export function lacksCommits(wal: string): boolean {
  const fd = open(wal);
  if (fd === undefined) return false;
  try {
    if (fstatSync(fd).size <= HEADER) return false;
    const header = headerOf(fd);
    return header === undefined || hasCommitsAfterGap(fd, header);
  } finally {
    closeSync(fd);
  }
}

function hasCommitsAfterGap(fd: number, header: Header): boolean {
  const frame = Buffer.alloc(FRAME_HEADER + header.pageSize);
  let valid = 0;
  let checksum = header.checksum;
  const read = (n: number): boolean => readSync(fd, frame, 0, frame.length, HEADER + n * frame.length) === frame.length;
  /** Goes on to the first invalid frame. */
  const skipValid = (): void => {
    for (; read(valid); valid++) {
      const next = checksumOf(frame, header, checksum);
      if (next === undefined) return;
      checksum = next;
    }
  };
  skipValid();
  let commits = 0;
  for (let n = valid + 1; read(n); n++) {
    const isCommit = frame.readUInt32BE(4) > 0 && frame.subarray(8, 16).equals(header.salts);
    if (!isCommit) continue;
    const before = valid;
    skipValid();
    if (valid > before) {
      commits = 0;
      n = valid;
    } else if (++commits > COMMITS_OF_A_CRASH) return headerOf(fd)?.bytes.equals(header.bytes) ?? true;
  }
  return false;
}

/** @returns the checksum up to and with this frame; undefined if the frame is invalid */
function checksumOf(frame: Buffer, header: Header, before: Checksum): Checksum | undefined {
  if (!frame.subarray(8, 16).equals(header.salts)) return undefined;
  const page = frame.subarray(FRAME_HEADER);
  const made = added(added(before, frame.subarray(0, 8), header.isBigEndian), page, header.isBigEndian);
  return made[0] === frame.readUInt32BE(16) && made[1] === frame.readUInt32BE(20) ? made : undefined;
}

/** @returns undefined if it is not that of a write-ahead log */
function headerOf(fd: number): Header | undefined {
  const bytes = Buffer.alloc(HEADER);
  readSync(fd, bytes, 0, HEADER, 0);
  const magic = bytes.readUInt32BE(0);
  const pageSize = bytes.readUInt32BE(8);
  if (magic >>> 1 !== MAGIC >>> 1 || !PAGE_SIZES.includes(pageSize)) return undefined;
  const isBigEndian = (magic & 1) === 1;
  return {
    bytes,
    pageSize,
    isBigEndian,
    salts: bytes.subarray(16, 24),
    checksum: added([0, 0], bytes.subarray(0, 24), isBigEndian),
  };
}

function added([first, second]: Checksum, bytes: Buffer, isBigEndian: boolean): Checksum {
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + word(bytes, at, isBigEndian) + second) >>> 0;
    second = (second + word(bytes, at + 4, isBigEndian) + first) >>> 0;
  }
  return [first, second];
}

const word = (bytes: Buffer, at: number, isBigEndian: boolean): number =>
  isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);

function open(wal: string): number | undefined {
  try {
    return openSync(wal, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
