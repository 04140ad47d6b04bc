/**
 * Writes and reads the snapshot archive: a gzipped tar of `meta.json`, `state.bin` and `SHA256SUMS`, in that order. Source:
 * specification document 1 (snapshot archive), cluster reference, section 6.4.
 *
 * The reader trusts nothing. It refuses another member, another order, a missing or wrong checksum, an excessive size, and a
 * state that does not match its digest. Nothing of the archive is used before all of it was checked.
 */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { extract, pack } from "tar-stream";
import { anySignal } from "../../../base/index.ts";
import { createStateDecoder, createStateEncoder, StateFormatError } from "../../core/state/index.ts";
import { ClusterError } from "../cluster-error.ts";

export interface ArchiveMeta {
  /** Version of this layout. */
  readonly format: 1;
  readonly id: string;
  readonly index: number;
  readonly term: number;
  readonly configuration: unknown;
  readonly feature_level: number;
  readonly cluster_id: string | null;
  readonly created_at: string;
  readonly gateway_version: string;
  readonly node: string;
  readonly leader: boolean;
  readonly size: number;
  readonly digest: string;
  readonly rows: number;
}

const FORMAT = 1;
const MAX_META_BYTES = 1024 * 1024;
const MAX_SUMS_BYTES = 4096;
const MAX_STATE_BYTES = 4 * 1024 ** 3;
const MEMBERS = ["meta.json", "state.bin", "SHA256SUMS"] as const;

/**
 * Streams the archive of a state file. `sha256`: of the file, hex. Nothing is opened before the first chunk is requested, and
 * everything is closed when the reader stops.
 */
export async function* writeArchive(meta: ArchiveMeta, statePath: string, sha256: string): AsyncGenerator<Uint8Array> {
  const tar = pack();
  const gzip = createGzip();
  const stop = new AbortController();
  // A reader that stops early causes an error on both streams; write failures reach the reader through the iteration below.
  for (const stream of [tar, gzip]) stream.on("error", () => undefined);
  tar.pipe(gzip);
  // A failure anywhere ends `gzip` with the error, which reaches the reader.
  const filled = writeMembers(tar, meta, statePath, sha256, stop.signal).catch((error: Error) => {
    gzip.destroy(error);
    tar.destroy();
  });
  try {
    yield* gzip;
  } finally {
    stop.abort();
    await filled;
  }
}

async function writeMembers(
  tar: ReturnType<typeof pack>,
  meta: ArchiveMeta,
  path: string,
  sha256: string,
  signal: AbortSignal,
): Promise<void> {
  // With a fixed modification time, equal states give equal archives.
  const header = { mode: 0o600, mtime: new Date(0) };
  const metaText = `${JSON.stringify(meta, null, 2)}\n`;
  tar.entry({ ...header, name: "meta.json" }, metaText);
  const entry = tar.entry({ ...header, name: "state.bin", size: meta.size });
  entry.on("error", () => undefined);
  let size = 0;
  for await (const chunk of createReadStream(path)) {
    size += chunk.length;
    if (size <= meta.size && !entry.write(chunk)) await once(entry, "drain", { signal });
  }
  // Without the missing bytes the tar stream would wait forever.
  if (size !== meta.size) throw new Error(`the snapshot ${path} has ${size} bytes, not the ${meta.size} of its record`);
  entry.end(undefined);
  const metaSum = createHash("sha256").update(metaText).digest("hex");
  tar.entry({ ...header, name: "SHA256SUMS" }, `${metaSum}  meta.json\n${sha256}  state.bin\n`);
  tar.finalize();
}

export interface ReadArchive {
  readonly meta: ArchiveMeta;
  readonly state: WrittenState;
}

/** State file that was written from an archive. */
interface WrittenState {
  /** Hex digest of the file. */
  readonly sha256: string;
  readonly size: number;
  readonly rows: number;
  /** Digest of its rows, in hexadecimal. */
  readonly digest: string;
}

type RowVisitor = (key: string, value: string) => void;

/**
 * Reads and checks an archive, and writes its state to `statePath` without an fsync: all of it, or all except the rows that
 * `isLeftOut` names. `visit` sees each row before the whole archive is known to be valid. Rejects with a `ClusterError` that
 * says what is wrong.
 */
export async function readArchive(
  source: AsyncIterable<Uint8Array>,
  statePath: string,
  visit: RowVisitor,
  signal: AbortSignal,
  isLeftOut?: (key: string) => boolean,
): Promise<ReadArchive> {
  const tar = extract();
  const gunzip = createGunzip();
  const stop = new AbortController();
  const fed = feed(source, gunzip, tar, anySignal([signal, stop.signal]));
  const reading = readMembers(tar, { path: statePath, visit, isLeftOut });
  // A failure of the input takes precedence over the errors that it causes in the members.
  const failed = fed.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  try {
    return await Promise.race([reading, failed]);
  } catch (error: unknown) {
    if (error instanceof ClusterError) throw error;
    if (signal.aborted) throw signal.reason;
    if (error instanceof StateFormatError) throw refused(error.message, error);
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_") === true)
      throw refused("it is not a gzip file, is incomplete, or has data after its end", error);
    if (code === "ERR_STREAM_PREMATURE_CLOSE") throw refused("it is incomplete, or has data after its end", error);
    if (/header|tar|unexpected end|stream was destroyed/i.test(String(error)))
      throw refused("it is not a complete tar archive", error);
    throw error;
  } finally {
    // Reading is stopped, so that nothing writes to the file any more.
    stop.abort();
    tar.destroy(new Error("reading the archive was stopped"));
    await reading.catch(() => undefined);
  }
}

async function feed(
  source: AsyncIterable<Uint8Array>,
  gunzip: ReturnType<typeof createGunzip>,
  tar: ReturnType<typeof extract>,
  signal: AbortSignal,
): Promise<void> {
  let received = 0;
  const counted = async function* (): AsyncIterable<Uint8Array> {
    for await (const chunk of source) {
      received += chunk.length;
      yield chunk;
    }
  };
  const packed = Readable.from(counted());
  // After an abort both may fail once the pipeline no longer listens; earlier failures are thrown below.
  for (const stream of [packed, gunzip]) stream.on("error", () => undefined);
  const unpacked = pipeline(packed, gunzip, { signal });
  unpacked.catch(() => undefined);
  for await (const chunk of gunzip) {
    if (!tar.write(chunk)) await once(tar, "drain", { signal });
  }
  await unpacked;
  if (gunzip.bytesWritten !== received) throw refused("it has data after its end");
  tar.end(undefined);
}

interface StateTarget {
  readonly path: string;
  readonly visit: RowVisitor;
  readonly isLeftOut: ((key: string) => boolean) | undefined;
}

async function readMembers(tar: ReturnType<typeof extract>, target: StateTarget): Promise<ReadArchive> {
  const sums = new Map<string, string>();
  let meta: ArchiveMeta | undefined;
  let state: WrittenState | undefined;
  let stated: string | undefined;
  let position = 0;
  for await (const member of tar) {
    const { name, size, type } = member.header;
    const entry = bytesOf(member);
    if (name !== MEMBERS[position] || type !== "file") {
      throw refused(
        `member ${position + 1} is ${JSON.stringify(name).slice(0, 80)}, expected ${MEMBERS[position] ?? "none"}`,
      );
    }
    position += 1;
    if (name === "meta.json") {
      const text = await collect(entry, MAX_META_BYTES, name);
      sums.set(name, createHash("sha256").update(text).digest("hex"));
      meta = parseMeta(text.toString("utf8"));
    } else if (name === "state.bin") {
      if (meta === undefined || size !== meta.size || size > MAX_STATE_BYTES) {
        throw refused("the size of state.bin is not the one that meta.json names");
      }
      const read = await readState(entry, meta, target);
      sums.set(name, read.sha256);
      state = read.written;
    } else {
      stated = (await collect(entry, MAX_SUMS_BYTES, name)).toString("utf8");
    }
  }
  if (meta === undefined || state === undefined || stated === undefined) {
    throw refused(`${MEMBERS[position] ?? "a member"} is missing`);
  }
  checkSums(stated, sums);
  return { meta, state };
}

async function* bytesOf(member: AsyncIterable<unknown>): AsyncIterable<Uint8Array> {
  for await (const chunk of member) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
}

async function collect(entry: AsyncIterable<Uint8Array>, limit: number, name: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of entry) {
    size += chunk.length;
    if (size > limit) throw refused(`${name} is over ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads the state member. `sha256`: of the member as it is in the archive. */
async function readState(
  entry: AsyncIterable<Uint8Array>,
  meta: ArchiveMeta,
  { path, visit, isLeftOut }: StateTarget,
): Promise<{ readonly sha256: string; readonly written: WrittenState }> {
  const hash = createHash("sha256");
  const decoder = createStateDecoder();
  const file = await open(path, "w", 0o600);
  try {
    const partial = isLeftOut && createPartialStateWriter(file);
    for await (const chunk of entry) {
      hash.update(chunk);
      const found = decoder.push(chunk);
      for (const [key, value] of found) visit(key, value);
      if (partial === undefined) await file.write(chunk);
      else await partial.write(found.filter(([key]) => !isLeftOut?.(key)));
    }
    const summary = decoder.end();
    if (summary.rows !== meta.rows || summary.digest !== meta.digest) {
      throw refused("the state does not match meta.json");
    }
    const sha256 = hash.digest("hex");
    return { sha256, written: partial ? await partial.end() : { sha256, size: meta.size, ...summary } };
  } finally {
    await file.close();
  }
}

/** Writes a subset of the rows of a state as a separate state. */
function createPartialStateWriter(file: FileHandle): {
  write(rows: readonly (readonly [key: string, value: string])[]): Promise<void>;
  end(): Promise<WrittenState>;
} {
  const hash = createHash("sha256");
  const encoder = createStateEncoder();
  let size = 0;
  const writeBytes = async (bytes: Uint8Array): Promise<void> => {
    hash.update(bytes);
    size += bytes.length;
    await file.write(bytes);
  };
  return {
    async write(rows) {
      if (size === 0) await writeBytes(encoder.header());
      if (rows.length > 0) await writeBytes(Buffer.concat(rows.map(([key, value]) => encoder.row(key, value))));
    },
    async end() {
      await writeBytes(encoder.end());
      return { sha256: hash.digest("hex"), size, ...encoder.summary };
    },
  };
}

function parseMeta(text: string): ArchiveMeta {
  let meta: Partial<ArchiveMeta>;
  try {
    meta = JSON.parse(text) as Partial<ArchiveMeta>;
  } catch (cause) {
    throw refused("meta.json is not JSON", cause);
  }
  if (typeof meta !== "object" || meta === null || typeof meta.format !== "number")
    throw refused("meta.json has no format");
  if (meta.format > FORMAT) {
    throw refused(`it has format ${meta.format}, this gateway reads ${FORMAT}: restore it with a newer version`);
  }
  const numbers = [meta.index, meta.term, meta.size, meta.rows, meta.feature_level];
  if (numbers.some((each) => !Number.isSafeInteger(each) || (each ?? -1) < 0)) {
    throw refused("meta.json lacks a number that it must name");
  }
  if (typeof meta.digest !== "string" || !/^[0-9a-f]{32}$/.test(meta.digest)) throw refused("meta.json has no digest");
  return meta as ArchiveMeta;
}

function checkSums(text: string, sums: ReadonlyMap<string, string>): void {
  const seen = new Set<string>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const match = /^([0-9a-f]{64}) {2}(\S+)$/.exec(line);
    const [, sum, name] = match ?? [];
    if (name === undefined || !sums.has(name)) throw refused("SHA256SUMS has a line that names no member");
    if (sums.get(name) !== sum) throw refused(`the sum of ${name} is wrong: the archive is damaged or was changed`);
    seen.add(name);
  }
  const missing = [...sums.keys()].find((name) => !seen.has(name));
  if (missing !== undefined) throw refused(`SHA256SUMS has no sum of ${missing}`);
}

function refused(what: string, cause?: unknown): ClusterError {
  return new ClusterError("refused", `the archive is refused, and nothing was changed: ${what}`, { cause });
}
