/**
 * The rule of versions for bytes and answers: messages between nodes, files on disks and in trails, and the admin API's
 * promises. See CONTRIBUTING, "Versions". `GATEWAY_REWRITE=1` adds new entries, as a release does, and changes no
 * recorded ones.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { AUDIT_EVENTS } from "../../src/base/index.ts";
import { KIND } from "../../src/server/cluster/wire/frame.ts";
import { COMMAND_REFUSALS } from "../../src/server/core/state/index.ts";
import { promisedLines } from "../admin-api/described.ts";
import { SAMPLES } from "../server/cluster/wire/samples.ts";
import { DATA } from "../server/core/state/versions/closed.ts";

const REWRITES = process.env["GATEWAY_REWRITE"] === "1";
const RECORD = "GATEWAY_REWRITE=1 node --import tsx --test test/tidy/formats.test.ts adds it";

interface RecordedBytes {
  /** Hex. */
  readonly bytes: string;
  /** The value that they decode to. */
  readonly value: unknown;
}

const bytesFile = new URL("bytes.json", DATA);
const recorded = (existsSync(bytesFile) ? JSON.parse(readFileSync(bytesFile, "utf8")) : {}) as Record<
  string,
  RecordedBytes
>;

/** The value as JSON, with bytes as hex. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each) => {
      const isBytes = each instanceof Uint8Array || (each?.type === "Buffer" && Array.isArray(each.data));
      return isBytes ? `hex ${Buffer.from(each.data ?? each).toString("hex")}` : each;
    }) ?? "null",
  );

/** The hello of builds before `joined`, `inc` and the log end existed. */
const SPARSE_HELLO =
  '{"v":1,"cluster":"fda64e3a063d37a6","epoch":0,"node":"n2","storage":"5b","proto":[1,1],"feat":0,"purpose":"raft"}';

test("bytes on the wire, on disk and in trails match those of other builds, and are read as such", () => {
  if (REWRITES) {
    for (const [name, { write, read }] of Object.entries(SAMPLES)) {
      if (Object.hasOwn(recorded, name)) continue;
      const bytes = Buffer.from(write?.() ?? Buffer.from(SPARSE_HELLO));
      recorded[name] = { bytes: bytes.toString("hex"), value: plain(read(bytes)) };
    }
    const lines = Object.entries(recorded).map(([name, one]) => `${JSON.stringify(name)}: ${JSON.stringify(one)}`);
    writeFileSync(bytesFile, `{\n${lines.join(",\n")}\n}\n`);
  }
  for (const [name, { bytes, value }] of Object.entries(recorded)) {
    const sample = SAMPLES[name];
    assert.ok(sample, `${name}: nodes, directories and trails of other builds have it, so it stays readable`);
    const remedy =
      "other builds have it as recorded: keep it, and give what is new a number of its own (a version of the protocol, of the " +
      'format); CONTRIBUTING, "Versions"';
    assert.deepEqual(plain(sample.read(Buffer.from(bytes, "hex"))), value, `${name} is read otherwise: ${remedy}`);
    if (sample.write === undefined) continue;
    assert.equal(Buffer.from(sample.write()).toString("hex"), bytes, `${name} is written otherwise: ${remedy}`);
  }
  assert.deepEqual(
    Object.keys(SAMPLES).filter((name) => !Object.hasOwn(recorded, name)),
    [],
    `not recorded yet: ${RECORD}`,
  );
});

const LISTS: Readonly<Record<string, () => readonly string[]>> = {
  "admin-api": promisedLines,
  "audit-events": () => AUDIT_EVENTS,
  "command-refusals": () => Object.keys(COMMAND_REFUSALS),
  "kinds-of-frames": () => Object.entries(KIND).map(([name, number]) => `${name} ${number}`),
};

for (const [name, lines] of Object.entries(LISTS)) {
  test(`the promise about ${name} is kept`, () => {
    const file = new URL(`${name}.txt`, DATA);
    const now = new Set(lines());
    const before = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
    const gone = before.filter((line) => !now.has(line));
    const remedy = `consoles, scripts, trails and nodes of other builds go by it: keep it beside what is new; CONTRIBUTING, "Versions"`;
    assert.deepEqual(gone, [], `gone or changed: ${remedy}`);
    assert.ok(REWRITES || before.length > 1, `nothing is recorded: ${RECORD}`);
    // A name that was never released can still change; a release records it.
    if (REWRITES) writeFileSync(file, `${[...now].sort().join("\n")}\n`);
  });
}
