/**
 * Records that share one signature: each verifies alone in any group, and no change of record, proof or root is
 * possible.
 */

import assert from "node:assert/strict";
import { createHash, sign, verify } from "node:crypto";
import { test } from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { publicKeyOf } from "../../../src/server/audit/audit-record.ts";
import { eventText } from "../../../src/server/audit/fit-event.ts";
import {
  buildTree,
  MAX_GROUP,
  MAX_PROOF_LENGTH,
  parseProof,
  signedBytesOf,
} from "../../../src/server/audit/group-proof.ts";
import { MAX_RECORD_BYTES } from "../../../src/server/audit/index.ts";
import { generateKey } from "../../../src/server/audit/key-file.ts";
import { AT, found, type MadeTrail, makeTrail, textOf, verifyChunks, verifyLines } from "./support/trails.ts";

const key = generateKey();
const keys = new Map([[key.kid, key.raw]]);

/** A start record, then groups of these sizes. */
function grouped(sizes: readonly number[]): MadeTrail {
  const made = makeTrail({ records: 1, key });
  for (const size of sizes) {
    const from = made.lines.length;
    const events = Array.from({ length: size }, (_, at) => ({
      text: eventText({ event: "access.decision", controls: ["AC-3"], data: { n: from + at } }),
      at: AT + from + at,
    }));
    made.lines.push(...made.chain.appendGroup(events).map(({ line }) => line));
  }
  return made;
}

const proofOf = (line: string): string | undefined => JSON.parse(line).proof;
const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** RFC 9162, 2.1.1 and 2.1.3.1, written literally. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0] as Buffer);
  const split = largestPower(leaves.length);
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

function pathOf(index: number, leaves: readonly Buffer[]): readonly Buffer[] {
  if (leaves.length === 1) return [];
  const split = largestPower(leaves.length);
  return index < split
    ? [...pathOf(index, leaves.slice(0, split)), rootOf(leaves.slice(split))]
    : [...pathOf(index - split, leaves.slice(split)), rootOf(leaves.slice(0, split))];
}

function largestPower(below: number): number {
  let power = 1;
  while (2 * power < below) power *= 2;
  return power;
}

test("root and path match RFC 9162 for groups of every size", () => {
  const leaves = Array.from({ length: MAX_GROUP }, (_, at) => sha256(Buffer.from(`leaf ${at}`)));
  for (let size = 2; size <= MAX_GROUP; size += size < 20 ? 1 : 59) {
    const group = leaves.slice(0, size);
    const { signedBytes, proofOf: proof } = buildTree(group);
    const sizeBytes = Buffer.from([size >> 8, size & 0xff]);
    assert.deepEqual(signedBytes, Buffer.concat([Buffer.from("gateway/audit/v1/group\n"), sizeBytes, rootOf(group)]));
    for (const index of new Set([0, 1, size >> 1, size - 2, size - 1])) {
      const path = Buffer.concat(pathOf(index, group)).toString("base64url");
      assert.equal(proof(index), `${size}.${index}.${path}`);
      assert.ok(proof(index).length <= MAX_PROOF_LENGTH);
      assert.deepEqual(signedBytesOf(group[index] as Buffer, parseProof(proof(index)) ?? assert.fail()), signedBytes);
    }
  }
  assert.equal(buildTree(leaves).proofOf(MAX_GROUP - 1).length, MAX_PROOF_LENGTH);
});

test("with any grouping the trail verifies, and so does each of its records alone", async () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: MAX_GROUP })), {
    minLength: 1,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(), async (groups, pick) => {
      const { lines } = grouped(groups);
      assert.deepEqual((await verifyLines(lines)).findings, []);
      // With the newest first, signatures wait for the key.
      assert.deepEqual((await verifyLines(lines.toReversed())).findings, []);
      let first = 1;
      for (const size of groups) {
        const members = lines.slice(first, first + size);
        assert.equal(new Set(members.map((line) => JSON.parse(line).sig)).size, 1);
        assert.ok(members.every((line) => (proofOf(line) !== undefined) === size > 1));
        first += size;
      }
      for (const line of [lines[pick % lines.length] as string, lines.at(-1) as string]) {
        const alone = await verifyLines([line], { keys });
        assert.deepEqual(
          alone.findings.filter(({ kind }) => kind !== "missing"),
          [],
        );
        assert.equal(line, canonicalize(JSON.parse(line)));
      }
    }),
    { numRuns: 60 },
  );
});

test("a single waiting record is signed as before, and an old trail verifies with a new one appended", async () => {
  const old = makeTrail({ records: 4, key });
  const last = old.lines.length;
  const text = eventText({ event: "access.decision", controls: [], data: {} });
  const [alone] = old.chain.appendGroup([{ text, at: AT }]);
  const { hash, sig, proof } = JSON.parse(alone?.line ?? "");
  assert.equal(proof, undefined);
  assert.ok(verify(null, Buffer.from(hash, "base64url"), publicKeyOf(key.raw), Buffer.from(sig, "base64url")));
  const after = old.chain.appendGroup([text, text, text].map((each) => ({ text: each, at: AT })));
  const lines = [...old.lines, alone?.line ?? "", ...after.map(({ line }) => line)];
  const report = await verifyLines(lines);
  assert.deepEqual([report.findings, report.records], [[], last + 4]);
  assert.deepEqual(old.chain.appendGroup([]), []);
});

test("the largest record of the largest group is within the size limit", () => {
  const { chain } = makeTrail({ records: 1, key });
  const texts = Array.from({ length: MAX_GROUP }, (_, at) =>
    eventText({ event: "access.decision", data: { text: "é".repeat(1_200 + 7 * at), list: Array(at).fill("\u0001") } }),
  );
  const records = chain.appendGroup(texts.map((text) => ({ text, at: AT })));
  assert.ok(records.every(({ line }) => Buffer.byteLength(line) < MAX_RECORD_BYTES));
});

test("a changed byte anywhere in a record of a group is detected", async () => {
  const { lines } = grouped([3]);
  const text = Buffer.from(textOf(lines));
  const start = Buffer.byteLength(textOf(lines.slice(0, 2)));
  const length = Buffer.byteLength(lines[2] as string);
  for (let at = 0; at < length; at += 1) {
    for (const flip of [0x01, 0x20]) {
      const damaged = Buffer.from(text);
      damaged.writeUInt8(damaged.readUInt8(start + at) ^ flip, start + at);
      const { findings } = await verifyChunks([damaged]);
      assert.ok(
        findings.some(({ seq, place }) => seq === 2 || place?.line === 3),
        `byte ${at} flipped by ${flip}`,
      );
    }
  }
});

interface Shared {
  readonly sig: string;
  readonly proof: string;
  readonly hash: string;
}

/** Records 1 to 5 are one group, 6 to 8 another, 9 is alone. */
const { lines: trail } = grouped([5, 3, 1]);
const shared = trail.map((line) => JSON.parse(line) as Shared);
const of = (at: number): Shared => shared[at] ?? assert.fail();
const partsOf = (at: number): readonly string[] => of(at).proof.split(".");
const [, , path1 = ""] = partsOf(1);
const bytes1 = Buffer.from(path1, "base64url");
const text1 = (bytes: Uint8Array): string => `5.0.${Buffer.from(bytes).toString("base64url")}`;
const flipped = (at: number): Buffer => {
  const bytes = Buffer.from(bytes1);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  return bytes;
};

/** Changes of record 1, and the resulting findings. */
const tampering: readonly (readonly [what: string, changes: Record<string, unknown>, finding: string])[] = [
  ["no proof", { proof: undefined }, "signature 1"],
  ["the proof of the next record", { proof: of(2).proof }, "signature 1"],
  ["the proof of a record of another group", { proof: of(6).proof }, "signature 1"],
  ["the signature of another group", { sig: of(6).sig }, "signature 1"],
  ["signature and proof of another group", { sig: of(6).sig, proof: of(6).proof }, "signature 1"],
  ["the signature of a single record", { sig: of(9).sig }, "signature 1"],
  ["the first hash of the path altered", { proof: text1(flipped(0)) }, "signature 1"],
  ["the last hash of the path altered", { proof: text1(flipped(95)) }, "signature 1"],
  [
    "two hashes of the path swapped",
    { proof: text1(Buffer.concat([bytes1.subarray(32, 64), bytes1.subarray(0, 32), bytes1.subarray(64)])) },
    "signature 1",
  ],
  ["another index with a path of the same length", { proof: `5.1.${path1}` }, "signature 1"],
  ["another size with a path of the same length", { proof: `6.0.${path1}` }, "signature 1"],
  ["a path that is too short", { proof: text1(bytes1.subarray(32)) }, "form 1"],
  ["a path that is too long", { proof: text1(Buffer.concat([bytes1, bytes1.subarray(0, 32)])) }, "form 1"],
  ["a path with a partial hash", { proof: text1(bytes1.subarray(1)) }, "form 1"],
  ["no path", { proof: "5.0." }, "form 1"],
  ["an index equal to the size", { proof: `5.5.${path1}` }, "form 1"],
  ["a group of one", { proof: `1.0.${path1}` }, "form 1"],
  ["a group that is too large", { proof: `257.0.${path1}` }, "form 1"],
  ["a size with a leading zero", { proof: `05.0.${path1}` }, "form 1"],
  ["an index with a sign", { proof: `5.+0.${path1}` }, "form 1"],
  ["a path with padding", { proof: `5.0.${path1}=` }, "form 1"],
  ["a path in the other base64 alphabet", { proof: `5.0.${"+".repeat(path1.length)}` }, "form 1"],
  ["text after the proof", { proof: `${of(1).proof}.` }, "form 1"],
  ["a proof that is not text", { proof: 5 }, "form 1"],
  ["a proof that is null", { proof: null }, "form 1"],
  ["an extra member", { proofs: of(1).proof }, "form 1"],
];

for (const [what, changes, finding] of tampering) {
  test(`a record of a group with ${what} is detected`, async () => {
    const line = canonicalize({ ...JSON.parse(trail[1] as string), ...changes }) ?? assert.fail();
    assert.notEqual(line, trail[1]);
    const report = await verifyLines(trail.with(1, line));
    assert.ok(found(report).includes(finding), `${found(report)}`);
    assert.deepEqual(found(await verifyLines(trail)), []);
  });
}

test("spare bits at the end of a path do not make a second proof of the same record", () => {
  const { proofOf: proof } = buildTree([sha256(Buffer.of(1)), sha256(Buffer.of(2))]);
  const text = proof(0);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const valid = [...alphabet].filter((last) => parseProof(`${text.slice(0, -1)}${last}`) !== undefined);
  assert.equal(valid.length, 16);
  const bytes = new Set(valid.map((last) => parseProof(`${text.slice(0, -1)}${last}`)?.path.toString("hex")));
  assert.equal(bytes.size, 16);
});

test("a group proof on a single record is detected", async () => {
  const line = canonicalize({ ...JSON.parse(trail[9] as string), proof: of(6).proof }) ?? assert.fail();
  assert.ok(found(await verifyLines(trail.with(9, line))).includes("signature 9"));
});

test("reordered records of a group are the same trail, and swapped contents are not", async () => {
  assert.deepEqual(found(await verifyLines([0, 5, 3, 1, 2, 4, 7, 9, 8, 6].map((at) => trail[at] as string))), []);
  const swapped = (at: number, place: number): string => {
    const { seq, prev, ts } = JSON.parse(trail[place] as string);
    return canonicalize({ ...JSON.parse(trail[at] as string), seq, prev, ts }) ?? "";
  };
  const report = await verifyLines(trail.with(2, swapped(3, 2)).with(3, swapped(2, 3)));
  assert.ok(found(report).includes("altered 2") && found(report).includes("altered 3"));
});

test("a removed record of a group is reported missing, and the others are valid", async () => {
  assert.deepEqual(found(await verifyLines(trail.filter((_, seq) => seq !== 3))), ["missing 3"]);
});

test("an inner node is not accepted as a record, or a signed record hash as a root", () => {
  const leaves = [1, 2, 3, 4].map((byte) => sha256(Buffer.of(byte)));
  const { signedBytes } = buildTree(leaves);
  const left = sha256(Buffer.of(1), ...leaves.slice(0, 2).map((leaf) => sha256(Buffer.of(0), leaf)));
  const right = sha256(Buffer.of(1), ...leaves.slice(2).map((leaf) => sha256(Buffer.of(0), leaf)));
  const proof = parseProof(`2.0.${right.toString("base64url")}`) ?? assert.fail();
  const size = Buffer.from([0, 4]);
  // Even with a corrected size, the node is hashed as a leaf and the root differs.
  const reached = signedBytesOf(left, proof);
  assert.notDeepEqual(Buffer.concat([reached.subarray(0, -34), size, reached.subarray(-32)]), signedBytes);
});

test("a group signed by another key is detected", async () => {
  const other = generateKey();
  const forged = trail.map((line, at) => {
    if (at < 1 || at > 5) return line;
    const digests = [1, 2, 3, 4, 5].map((each) => Buffer.from(of(each).hash, "base64url"));
    const sig = sign(null, buildTree(digests).signedBytes, other.privateKey).toString("base64url");
    return canonicalize({ ...JSON.parse(line), sig }) ?? "";
  });
  assert.deepEqual(
    found(await verifyLines(forged)),
    [1, 2, 3, 4, 5].map((seq) => `signature ${seq}`),
  );
});

test("threads verify groups with the same result as the reader", async () => {
  const { lines } = grouped(Array.from({ length: 12 }, (_, at) => 256 - at));
  const damaged = lines.with(
    2_000,
    (lines[2_000] as string).replace(/"sig":"./, (it) => `${it.slice(0, -1)}${it.endsWith("A") ? "B" : "A"}`),
  );
  for (const threads of [0, 2]) {
    assert.deepEqual(found(await verifyLines(lines, { threads })), []);
    assert.deepEqual(found(await verifyLines(damaged, { threads })), ["signature 2000"]);
    assert.deepEqual(found(await verifyLines(damaged.toReversed(), { threads })), ["signature 2000"]);
  }
});
