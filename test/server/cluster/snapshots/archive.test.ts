/** The snapshot archive: written ones can be read, and nothing else can. Source: cluster reference, section 6.4. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import {
  type ArchiveMeta,
  type ReadArchive,
  readArchive,
  writeArchive,
} from "../../../../src/server/cluster/snapshots/archive.ts";
import {
  archiveOf,
  bytesOf,
  fileWith,
  type Member,
  makeDir,
  piecesOf,
  sha256,
  stateOf,
  sumsOf,
  tarOf,
} from "../support/archives.ts";
import { failure } from "../support/outcome.ts";

const ROWS = Array.from(
  { length: 300 },
  (_, at) => [`key/${String(at).padStart(4, "0")}`, `1${"x".repeat(at)}`] as const,
);
const { bytes: STATE, meta: META } = stateOf(ROWS);
const NEVER = new AbortController().signal;

const metaOf = (meta: unknown): Member => ({ name: "meta.json", data: JSON.stringify(meta) });
const state = (data: Uint8Array = STATE): Member => ({ name: "state.bin", data });

function whole(meta: unknown = META, data: Uint8Array = STATE): readonly Member[] {
  return [metaOf(meta), state(data), sumsOf(metaOf(meta), state(data))];
}

async function read(
  t: TestContext,
  bytes: Uint8Array,
  pieces = 1_000,
): Promise<ReadArchive & { readonly rows: readonly string[]; readonly path: string }> {
  const path = join(makeDir(t), "received.bin");
  const rows: string[] = [];
  const found = await readArchive(piecesOf(bytes, pieces), path, (key) => rows.push(key), NEVER);
  return { ...found, rows, path };
}

test("a written archive is read back: meta, rows and the bytes of the state", async (t) => {
  const path = fileWith(makeDir(t), STATE);
  const archive = await bytesOf(writeArchive(META, path, sha256(STATE)));
  for (const pieces of [1, 1_000, archive.length]) {
    const found = await read(t, archive, pieces);
    assert.deepEqual(found.meta, META);
    const { size, rows, digest } = META;
    assert.deepEqual(found.state, { sha256: sha256(STATE), size, rows, digest });
    assert.deepEqual(
      found.rows,
      ROWS.map(([key]) => key),
    );
    assert.deepEqual(readFileSync(found.path), STATE);
  }
});

test("an archive can be read by tar and sha256sum: three members in order, for the owner alone", async (t) => {
  const dir = makeDir(t);
  const archive = await bytesOf(writeArchive(META, fileWith(dir, STATE), sha256(STATE)));
  const file = fileWith(dir, archive, "archive.tgz");
  const listed = execFileSync("tar", ["-tvzf", file], { encoding: "utf8" }).trim().split("\n");
  assert.deepEqual(
    listed.map((line) => `${line.slice(0, 10)} ${line.split(" ").at(-1)}`),
    ["-rw------- meta.json", "-rw------- state.bin", "-rw------- SHA256SUMS"],
  );
  execFileSync("tar", ["-xzf", file, "-C", dir]);
  execFileSync("sha256sum", ["-c", "--strict", "SHA256SUMS"], { cwd: dir, stdio: "pipe" });
});

test("the archive of an empty state can be read", async (t) => {
  const { bytes, meta } = stateOf([]);
  assert.deepEqual((await read(t, await archiveOf(whole(meta, bytes)))).rows, []);
});

test("a state that is missing or shorter than announced fails the write", async (t) => {
  const dir = makeDir(t);
  await assert.rejects(bytesOf(writeArchive(META, join(dir, "none"), sha256(STATE))), /ENOENT/);
  const short = fileWith(dir, STATE.subarray(0, 100));
  await assert.rejects(bytesOf(writeArchive(META, short, sha256(STATE))));
});

test("a reader that disconnects ends the write", async (t) => {
  const { bytes, meta } = stateOf(
    Array.from({ length: 40 }, (_, at) => [`key/${10 + at}`, randomBytes(50_000).toString("hex")]),
  );
  const archive = writeArchive(meta, fileWith(makeDir(t), bytes), sha256(bytes));
  const first = await archive.next();
  assert.equal(first.done, false);
  assert.deepEqual(await archive.return(undefined), { done: true, value: undefined });
});

const flipped = Buffer.from(STATE);
flipped.write("y", 200);
const swapped = stateOf([["key/a", "1other"]]);

const REFUSED: readonly (readonly [name: string, members: readonly Member[], why: RegExp])[] = [
  ["no member", [], /meta.json is missing/],
  ["no state", [metaOf(META)], /state.bin is missing/],
  ["no sums", [metaOf(META), state()], /SHA256SUMS is missing/],
  ["a fourth member", [...whole(), { name: "more", data: "" }], /member 4 is "more", expected none/],
  ["a duplicate member", [metaOf(META), metaOf(META), state()], /member 2 is "meta.json", expected state.bin/],
  ["another order", [state(), metaOf(META), sumsOf(metaOf(META), state())], /member 1 is "state.bin"/],
  ["another name", [{ ...metaOf(META), name: "./meta.json" }, state()], /member 1 is ".\/meta.json"/],
  ["a name that leaves the directory", [{ name: "../../etc/passwd", data: "" }], /member 1/],
  [
    "a link in place of a file",
    [metaOf(META), { name: "state.bin", data: "/etc/passwd", type: "symlink" }],
    /member 2/,
  ],
  ["a directory", [{ name: "meta.json", data: "", type: "directory" }], /member 1/],
  ["meta.json that is not JSON", [{ name: "meta.json", data: "{" }, state()], /not JSON/],
  ["meta.json that is not an object", [metaOf(null), state()], /no format/],
  ["meta.json without a format", [metaOf({ ...META, format: "1" }), state()], /no format/],
  ["a newer format", whole({ ...META, format: 2 }), /format 2, this gateway reads 1: restore it with a newer version/],
  ["a missing number", whole({ ...META, index: undefined }), /lacks a number/],
  ["a negative number", whole({ ...META, rows: -1 }), /lacks a number/],
  ["a digest of another form", whole({ ...META, digest: "x" }), /no digest/],
  ["meta.json above its limit", [metaOf({ ...META, node: "n".repeat(1_048_576) })], /meta.json is over 1048576 bytes/],
  ["a state of another size", whole({ ...META, size: META.size + 1 }), /size of state.bin/],
  ["another digest", whole({ ...META, digest: "0".repeat(32) }), /does not match meta.json/],
  ["another number of rows", whole({ ...META, rows: 1 }), /does not match meta.json/],
  ["a state of another snapshot", [metaOf(META), state(swapped.bytes)], /size of state.bin/],
  ["a flipped byte in the state", whole(META, flipped), /./],
  ["an invalid state", whole({ ...META, size: 10 }, Buffer.from("0123456789")), /./],
  ["a wrong sum", [metaOf(META), state(), sumsOf(metaOf({}), state())], /sum of meta.json is wrong/],
  ["a missing sum", [metaOf(META), state(), sumsOf(metaOf(META))], /no sum of state.bin/],
  ["no sums in SHA256SUMS", [metaOf(META), state(), { name: "SHA256SUMS", data: "" }], /no sum of meta.json/],
  [
    "a sum of an absent member",
    [metaOf(META), state(), sumsOf(metaOf(META), state(), { name: "more", data: "" })],
    /names no member/,
  ],
  ["sums of another form", [metaOf(META), state(), { name: "SHA256SUMS", data: "meta.json\n" }], /names no member/],
  ["sums above their limit", [metaOf(META), state(), { name: "SHA256SUMS", data: "\n".repeat(4_097) }], /over 4096/],
];

for (const [name, members, why] of REFUSED) {
  test(`an archive is refused: ${name}`, async (t) => {
    await assert.rejects(read(t, await archiveOf(members)), failure("refused", why));
  });
}

test("data that is not gzip, and gzip of data that is not tar, are refused", async (t) => {
  await assert.rejects(read(t, await tarOf(whole())), failure("refused", /not a gzip file/));
  await assert.rejects(read(t, Buffer.from("<html>")), failure("refused", /not a gzip file/));
  await assert.rejects(read(t, Buffer.alloc(0)), failure("refused"));
  await assert.rejects(read(t, gzipSync(Buffer.alloc(2_000, "x"))), failure("refused", /tar/));
  await assert.rejects(read(t, gzipSync("")), failure("refused", /meta.json is missing/));
});

test("an archive cut off at any place is refused", async (t) => {
  const archive = await archiveOf(whole());
  const tar = await tarOf(whole());
  for (let at = 0; at < archive.length; at += Math.ceil(archive.length / 40)) {
    await assert.rejects(read(t, archive.subarray(0, at)), failure("refused"), `${at} bytes`);
  }
  await assert.rejects(read(t, archive.subarray(0, -1)), failure("refused"));
  const end = tar.length - 1_024 - 512;
  for (let at = 0; at <= end; at += Math.ceil(end / 40)) {
    await assert.rejects(read(t, gzipSync(tar.subarray(0, at))), failure("refused"), `${at} bytes of tar`);
  }
});

test("data after the archive is refused, inside the gzip or behind it, at once or later", async (t) => {
  const archive = await archiveOf(whole());
  const tar = await tarOf(whole());
  for (const tail of [
    Buffer.from("x"),
    Buffer.alloc(300),
    Buffer.alloc(5_000, "garbage"),
    gzipSync(await tarOf([{ name: "more", data: "" }])),
  ]) {
    for (const pieces of [archive.length, archive.length + tail.length]) {
      await assert.rejects(
        read(t, Buffer.concat([archive, tail]), pieces),
        failure("refused"),
        `${tail.length}/${pieces}`,
      );
    }
  }
  await assert.rejects(read(t, gzipSync(Buffer.concat([tar, Buffer.alloc(512, "x")]))), failure("refused"));
});

test("a flipped bit anywhere is refused unless it decompresses to the same bytes", async (t) => {
  const archive = await archiveOf(whole());
  // The first ten bytes are gzip's own header, whose time and system are irrelevant.
  for (let at = 10; at < archive.length; at += Math.ceil(archive.length / 40)) {
    const bytes = Buffer.from(archive);
    bytes.writeUInt8((bytes[at] ?? 0) ^ 0x10, at);
    if (isSame(bytes, await tarOf(whole()))) continue;
    await assert.rejects(read(t, bytes), failure("refused"), `byte ${at}`);
  }
});

function isSame(packed: Uint8Array, unpacked: Uint8Array): boolean {
  try {
    return gunzipSync(packed).equals(unpacked);
  } catch {
    return false;
  }
}

test("a refusal stops reading the source at once", async (t) => {
  const archive = await archiveOf([{ name: "other", data: Buffer.alloc(4_000_000, "x") }]);
  let isEnded = false;
  const source = async function* (): AsyncIterable<Uint8Array> {
    try {
      yield archive.subarray(0, 3_000);
      // The rest never comes, since the sender waits for an answer.
      await new Promise(() => undefined);
    } finally {
      isEnded = true;
    }
  };
  await assert.rejects(
    readArchive(source(), join(makeDir(t), "x"), () => undefined, NEVER),
    failure("refused"),
  );
  assert.equal(isEnded, false, "the generator waits and cannot be ended");

  const endless = async function* (): AsyncIterable<Uint8Array> {
    try {
      for (;;) yield archive.subarray(0, 2_000);
    } finally {
      isEnded = true;
    }
  };
  await assert.rejects(
    readArchive(endless(), join(makeDir(t), "x"), () => undefined, NEVER),
    failure("refused"),
  );
  assert.equal(isEnded, true);
});

test("a failing source and an abort end the read with their own error", async (t) => {
  const archive = await archiveOf(whole());
  const path = join(makeDir(t), "x");
  const failing = async function* (): AsyncIterable<Uint8Array> {
    yield archive.subarray(0, 500);
    throw new Error("the client went away");
  };
  await assert.rejects(
    readArchive(failing(), path, () => undefined, NEVER),
    /the client went away/,
  );
  const abort = new AbortController();
  const waiting = async function* (): AsyncIterable<Uint8Array> {
    yield archive.subarray(0, 500);
    abort.abort(new Error("out of time"));
    await new Promise(() => undefined);
  };
  await assert.rejects(
    readArchive(waiting(), path, () => undefined, abort.signal),
    /out of time/,
  );
});

test("an error of the consumer passes through", async (t) => {
  const archive = await archiveOf(whole());
  const fail = (): never => {
    throw new Error("of the visitor");
  };
  await assert.rejects(readArchive(piecesOf(archive), join(makeDir(t), "x"), fail, NEVER), /of the visitor/);
});

test("fields that a later version adds to the same format are ignored", async (t) => {
  const meta: ArchiveMeta & { readonly more: number } = { ...META, more: 1 };
  assert.equal((await read(t, await archiveOf(whole(meta)))).meta.index, META.index);
});
