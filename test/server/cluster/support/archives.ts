/** Archives for tests: valid, and broken in one place. */

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import type { ArchiveMeta } from "../../../../src/server/cluster/snapshots/archive.ts";
import { createStateEncoder } from "../../../../src/server/core/state/index.ts";
import { afterwards } from "./cleanup.ts";

export interface Member {
  readonly name: string;
  readonly data: string | Uint8Array;
  readonly type?: "file" | "symlink" | "directory";
}

export function makeDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "gateway-cluster-"));
  afterwards(t, () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A state with these rows, and the `meta.json` that describes it. */
export function stateOf(rows: readonly (readonly [key: string, value: string])[]): {
  readonly bytes: Buffer;
  readonly meta: ArchiveMeta;
} {
  const encoder = createStateEncoder();
  const records = rows.map(([key, value]) => encoder.row(key, value));
  const bytes = Buffer.concat([encoder.header(), ...records, encoder.end()]);
  const meta: ArchiveMeta = {
    format: 1,
    id: "3-20-1700000000000",
    index: 20,
    term: 3,
    configuration: { voters: [], learners: [] },
    feature_level: 1,
    cluster_id: null,
    created_at: "2026-11-20T12:00:00.000Z",
    gateway_version: "1.0.0",
    node: "a",
    leader: true,
    size: bytes.length,
    ...encoder.summary,
  };
  return { bytes, meta };
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

export function sumsOf(...members: readonly Member[]): Member {
  return { name: "SHA256SUMS", data: members.map(({ name, data }) => `${sha256(data)}  ${name}\n`).join("") };
}

export async function tarOf(members: readonly Member[]): Promise<Buffer> {
  const tar = pack();
  const mtime = new Date(0);
  for (const { name, data, type = "file" } of members) {
    if (type === "symlink") tar.entry({ name, type, mtime, linkname: String(data) });
    else tar.entry({ name, type, mtime }, typeof data === "string" ? data : Buffer.from(data));
  }
  tar.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of tar) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

export async function archiveOf(members: readonly Member[]): Promise<Buffer> {
  return gzipSync(await tarOf(members));
}

/** Yields pieces of this size. */
export async function* piecesOf(bytes: Uint8Array, size = 1_000): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

export function fileWith(dir: string, bytes: Uint8Array, name = "state.bin"): string {
  const path = join(dir, name);
  writeFileSync(path, bytes);
  return path;
}
