/** Every damage that the verifier can detect is found, and named by chain and number. */

import assert from "node:assert/strict";
import { sign } from "node:crypto";
import { test } from "node:test";
import { canonical, hashOfCanonical } from "../../../../src/server/audit/audit-record.ts";
import { type AuditEvent, verifyTrail } from "../../../../src/server/audit/index.ts";
import { generateKey } from "../../../../src/server/audit/key-file.ts";
import { found, type MadeTrail, makeTrail, textOf, verifyChunks, verifyLines } from "../support/trails.ts";

test("an undamaged trail verifies, and its chain is reported with range and count", async () => {
  const { lines, key } = makeTrail({ records: 8 });
  const report = await verifyLines(lines);
  assert.deepEqual(report.findings, []);
  const place = { misplaced: 0, firstMisplaced: undefined };
  assert.deepEqual(report.chains, [
    {
      node: "n1",
      kid: key.kid,
      first: 0,
      last: 7,
      records: 8,
      copies: 0,
      ...place,
      ephemeral: false,
      isVerified: true,
    },
  ]);
});

test("a record with any changed byte is detected, at its line or by the gap it leaves", async () => {
  const { lines } = makeTrail({ records: 3 });
  const text = Buffer.from(textOf(lines));
  const start = Buffer.byteLength(lines[0] as string) + 1;
  const length = Buffer.byteLength(lines[1] as string);
  for (let at = 0; at < length; at += 1) {
    for (const flip of [0x01, 0x20]) {
      const damaged = Buffer.from(text);
      damaged.writeUInt8(damaged.readUInt8(start + at) ^ flip, start + at);
      const { findings } = await verifyChunks([damaged]);
      assert.ok(
        findings.some(({ seq, place }) => seq === 1 || place?.line === 2),
        `byte ${at} flipped by ${flip}: ${JSON.stringify(findings)}`,
      );
    }
  }
});

/** A trail of three records, the second with this data. */
function trailWith(data: AuditEvent["data"]): MadeTrail {
  const made = makeTrail({ records: 1 });
  made.add({ event: "admin.write", data });
  made.add();
  return made;
}

test("a differently spelled number is detected, also if both spellings parse to the same value", async () => {
  const data = { tokens: 12, ratio: 0.1, large: 9007199254740992, cost: 1e21, none: 0, note: "seen 12 times: 0.1" };
  const { lines } = trailWith(data);
  assert.deepEqual(found(await verifyLines(lines)), []);
  const spellings = [
    [`"tokens":12`, `"tokens":12.0`],
    [`"tokens":12`, `"tokens":12.000000000000000001`],
    [`"tokens":12`, `"tokens":1.2e1`],
    [`"ratio":0.1`, `"ratio":0.1000000000000000055`],
    [`"large":9007199254740992`, `"large":9007199254740993`],
    [`"cost":1e+21`, `"cost":1000000000000000000001`],
    [`"none":0`, `"none":-0`],
    [`"none":0`, `"none":1e-400`],
    [`"seq":1`, `"seq":1.00`],
  ] as const;
  for (const [signed, other] of spellings) {
    const line = lines[1] as string;
    assert.ok(line.includes(signed), signed);
    assert.deepEqual(found(await verifyLines(lines.with(1, line.replace(signed, other)))), ["altered 1"], other);
  }
});

test("invalid UTF-8 is detected, also if it decodes to the replacement character", async () => {
  const { lines } = trailWith({ name: "cut \ufffd" });
  assert.deepEqual(found(await verifyLines(lines)), []);
  const bytes = Buffer.from(textOf(lines));
  const at = bytes.indexOf("\ufffd", Buffer.byteLength(lines[0] as string) + 1);
  const { findings } = await verifyChunks([bytes.subarray(0, at), Buffer.of(0xff), bytes.subarray(at + 3)]);
  assert.equal(findings[0]?.place?.line, 2);
});

test("a dropped record is reported missing, and dropped runs are reported as ranges", async () => {
  const { lines } = makeTrail({ records: 10 });
  const one = await verifyLines(lines.filter((_, seq) => seq !== 4));
  assert.deepEqual(found(one), ["missing 4"]);
  const runs = await verifyLines(lines.filter((_, seq) => seq < 2 || (seq > 4 && seq !== 7)));
  assert.deepEqual(
    runs.findings.map(({ message }) => message),
    ["records 2 to 4 are missing", "the record is missing"],
  );
  assert.equal(runs.chains[0]?.isVerified, false);
});

test("swapped, reversed and repeated records are the same trail", async () => {
  const { lines } = makeTrail({ records: 30 });
  const swapped = [...lines.slice(0, 3), lines[4], lines[3], ...lines.slice(5)] as string[];
  const result = await verifyLines(swapped);
  assert.deepEqual(found(result), []);
  assert.equal(result.chains[0]?.misplaced, 1);
  assert.equal(result.chains[0]?.firstMisplaced?.line, 5);
  assert.deepEqual(found(await verifyLines(lines.toReversed())), []);
  const repeated = await verifyLines([...lines, ...lines.slice(20), ...lines.slice(0, 2)]);
  assert.deepEqual(repeated.findings, []);
  assert.equal(repeated.chains[0]?.copies, 12);
  assert.equal(repeated.chains[0]?.records, 30);
  assert.equal(repeated.chains[0]?.misplaced, 0);
});

test("orders caused by a crash, a second node or reordered files are not reported as misplaced", async () => {
  const { lines } = makeTrail({ records: 30 });
  const other = makeTrail({ node: "n2", records: 30 });
  const both = lines.flatMap((line, at) => [line, other.lines[at] ?? ""]);
  const crashed = [...lines.slice(0, 20), ...lines.slice(16)];
  for (const trail of [both, crashed]) {
    const { chains } = await verifyLines(trail);
    assert.deepEqual(
      chains.map(({ misplaced }) => misplaced),
      chains.map(() => 0),
    );
  }
  const files = [lines.slice(20), lines.slice(8, 22), lines.slice(0, 8)].map((part, at) => ({
    name: `audit.log.${at}`,
    chunks: (async function* () {
      yield textOf(part);
    })(),
  }));
  const { chains, findings } = await verifyTrail(files);
  assert.deepEqual([findings.length, chains[0]?.misplaced, chains[0]?.copies], [0, 0, 2]);
});

test("a trail cut at its end verifies by itself, but not against the heads", async () => {
  const { lines, key, chain } = makeTrail({ records: 6 });
  const heads = [{ node: "n1", ...(chain.head ?? assert.fail()) }];
  assert.deepEqual(found(await verifyLines(lines, { heads })), []);
  const cut = lines.slice(0, 4);
  assert.deepEqual(found(await verifyLines(cut)), []);
  const against = await verifyLines(cut, { heads });
  assert.deepEqual(found(against), ["head 5"]);
  assert.equal(against.findings[0]?.kid, key.kid);
});

test("a head of an absent chain or with another hash is detected", async () => {
  const { lines, key } = makeTrail({ records: 4 });
  const other = makeTrail({ node: "n2" });
  const absent = { node: "n2", ...(other.chain.head ?? assert.fail()) };
  const forged = { node: "n1", kid: key.kid, seq: 2, hash: "A".repeat(43) };
  const report = await verifyLines(lines, { heads: [absent, forged] });
  assert.deepEqual(found(report), ["head 4", "head 2"]);
  assert.deepEqual(found(await verifyLines(lines.slice(3), { heads: [forged], keys: new Map([[key.kid, key.raw]]) })), [
    "head 2",
  ]);
});

/** Returns the record with other members, hashed again and signed with `key`. */
function resealed(line: string, key: ReturnType<typeof generateKey>, changes: object): string {
  const { hash: _, sig: __, ...record } = JSON.parse(line);
  const unsealed = { ...record, ...changes };
  const digest = hashOfCanonical(canonical(unsealed));
  const sealed = { hash: digest.toString("base64url"), sig: sign(null, digest, key.privateKey).toString("base64url") };
  return canonical({ ...unsealed, ...sealed });
}

test("a record signed by another key is detected", async () => {
  const { lines } = makeTrail({ records: 5 });
  const forged = [...lines.slice(0, 4), resealed(lines[4] as string, generateKey(), { data: { forged: true } })];
  assert.deepEqual(found(await verifyLines(forged)), ["signature 4"]);
  const within = [...lines.slice(0, 3), resealed(lines[3] as string, generateKey(), {}), lines[4] as string];
  assert.deepEqual(found(await verifyLines(within)), ["signature 3"]);
});

test("a record rewritten with its own key breaks the link to the next one", async () => {
  const { lines, key } = makeTrail({ records: 5 });
  const rewritten = lines.with(2, resealed(lines[2] as string, key, { data: { n: "rewritten" } }));
  assert.deepEqual(found(await verifyLines(rewritten)), ["link 3"]);
});

test("two records with one number are a fork, in any order and at any distance", async () => {
  const { lines, key } = makeTrail({ records: 9_000 });
  const twin = resealed(lines[3] as string, key, { data: { n: "twin" } });
  assert.deepEqual(found(await verifyLines([...lines, twin])), ["fork 3"]);
  assert.deepEqual(found(await verifyLines([...lines.slice(0, 9), twin])), ["fork 3"]);
  assert.deepEqual(found(await verifyLines([...lines.slice(0, 3), twin, ...lines.slice(3, 9)])), ["fork 3", "link 4"]);
});

test("a start record whose key is not the chain's is detected, and its key is not trusted", async () => {
  const { lines, key } = makeTrail({ records: 2 });
  const thief = generateKey();
  const data = { key: thief.raw.toString("base64"), ephemeral: false, succeeds: null };
  const forged = [resealed(lines[0] as string, thief, { data }), lines[1] as string];
  const { findings } = await verifyLines(forged);
  assert.deepEqual(findings.map(({ kind }) => kind).toSorted(), ["key", "link", "start"]);
  const known = await verifyLines(forged, { keys: new Map([[key.kid, key.raw]]) });
  assert.deepEqual(found(known).toSorted(), ["link 1", "signature 0", "start 0"]);
});

test("a record with another kid is not part of the chain: it leaves a gap, or is a chain without a key", async () => {
  const { lines, key } = makeTrail({ records: 4 });
  const moved = lines.with(2, resealed(lines[2] as string, key, { kid: generateKey().kid }));
  const report = await verifyLines(moved);
  assert.deepEqual(found(report), ["missing 2", "key -"]);
  assert.equal(report.chains.length, 2);
});

test("a record claimed by another node is reported as a chain of its own with a gap", async () => {
  const { lines, key } = makeTrail({ records: 4 });
  const report = await verifyLines(lines.with(2, resealed(lines[2] as string, key, { node: "n2" })));
  assert.ok(found(report).includes("missing 2"));
  assert.equal(report.chains.length, 2);
});

test("a chain without its start record needs its key", async () => {
  const { lines, key } = makeTrail({ records: 6 });
  const later = lines.slice(2);
  assert.deepEqual(found(await verifyLines(later)), ["key -"]);
  assert.deepEqual(found(await verifyLines(later, { keys: new Map([[key.kid, key.raw]]) })), []);
  const first = await verifyLines(lines.with(0, resealed(lines[0] as string, key, { event: "chain.resume" })));
  assert.ok(found(first).includes("start 0"));
});

test("a start record inside a chain, and a first record with a predecessor, are detected", async () => {
  const { lines, key } = makeTrail({ records: 3 });
  const { data } = JSON.parse(lines[0] as string);
  const within = lines.with(2, resealed(lines[2] as string, key, { event: "chain.start", data }));
  assert.deepEqual(found(await verifyLines(within)), ["start 2"]);
  const linked = lines.slice(0, 1).with(0, resealed(lines[0] as string, key, { prev: `${"B".repeat(42)}A` }));
  assert.deepEqual(found(await verifyLines(linked)), ["link 0"]);
});

test("a succeeding chain must name a record that the previous chain has", async () => {
  const before = makeTrail({ records: 5 });
  const head = before.chain.head ?? assert.fail();
  const good = makeTrail({ succeeds: head });
  assert.deepEqual(found(await verifyLines([...good.lines, ...before.lines])), []);
  assert.deepEqual(found(await verifyLines(good.lines)), []);
  assert.deepEqual(found(await verifyLines([...before.lines.slice(0, 3), ...good.lines])), ["succeeds 0"]);
  const bad = makeTrail({ succeeds: { ...head, hash: "C".repeat(43) } });
  assert.deepEqual(found(await verifyLines([...before.lines, ...bad.lines])), ["succeeds 0"]);
});

test("an input without records is a finding of its own", async () => {
  for (const text of ["", "\n\n", '{"level":"info","message":"hello"}\n', "\u0000\u0000"]) {
    assert.deepEqual(found(await verifyChunks([text])), ["empty -"]);
  }
});
