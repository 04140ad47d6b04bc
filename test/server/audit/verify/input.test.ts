/** Verifier input: any chunks, any lines, several files, many threads; always bounded. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { verifyTrail } from "../../../../src/server/audit/index.ts";
import { createFingerprints } from "../../../../src/server/audit/verify/fingerprints.ts";
import { parseChainKey, parseHeads } from "../../../../src/server/audit/verify/heads.ts";
import { found, makeTrail, textOf, verifyChunks, verifyLines } from "../support/trails.ts";

const made = makeTrail({ records: 12 });
const LOG = '{"time":"2026-07-28T09:30:15.250Z","level":"info","message":"listening","audit":"soon"}';

async function* one(chunk: string): AsyncGenerator<string> {
  yield chunk;
}

test("other lines are ignored, and line numbers count them", async () => {
  const lines = [LOG, "plain words", "", "{broken", '"audit"', "[1]", ...made.lines.slice(0, 3), LOG, '{"audit":true}'];
  assert.deepEqual(found(await verifyLines(lines)), []);
  const { findings } = await verifyLines([...lines, made.lines[3]?.replace('"n":3', '"n":4') ?? ""]);
  assert.deepEqual(
    findings.map(({ kind, place }) => [kind, place]),
    [["altered", { file: "trail", line: 12 }]],
  );
});

test("carriage returns, a byte order mark, whitespace and member order do not change a record", async () => {
  assert.deepEqual(found(await verifyChunks([`\ufeff${made.lines.join("\r\n")}`])), []);
  const rewritten = made.lines.map((line) =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line)).reverse()), null, 1),
  );
  assert.deepEqual(found(await verifyLines(rewritten.map((text) => text.replaceAll("\n", " ")))), []);
});

test("a duplicate member name is refused, since readers differ in which one counts", async () => {
  const doubled = made.lines[3]?.replace('"data":{', '"data":{"n":999,') ?? "";
  const report = await verifyLines(made.lines.with(3, doubled));
  assert.deepEqual(found(report), ["form 3", "missing 3"]);
});

test("a truncated record line is counted, and is no finding while no record is missing", async () => {
  const torn = made.lines[5]?.slice(0, 200) ?? "";
  const report = await verifyLines([...made.lines.slice(0, 5), torn, ...made.lines.slice(5)]);
  assert.deepEqual(report.findings, []);
  assert.equal(report.cutShort, 1);
  assert.deepEqual(found(await verifyLines(made.lines.with(5, torn))), ["missing 5"]);
});

test("two concatenated records are a finding", async () => {
  const text = textOf(made.lines).replace(/\n/g, (newline, at) => (at > 2_000 && at < 2_700 ? "" : newline));
  const report = await verifyChunks([text]);
  assert.ok(report.findings.some(({ kind, message }) => kind === "form" && /not JSON/.test(message)));
});

test("an oversized line is ignored unless it begins like a record", async () => {
  const long = "x".repeat(300_000);
  assert.deepEqual(found(await verifyLines([`{"audit":false,"a":"${long}"}`, ...made.lines, long])), []);
  const report = await verifyLines([...made.lines.slice(0, 2), `{"audit":1,"data":"${long}"}`, ...made.lines.slice(2)]);
  assert.deepEqual(
    report.findings.map(({ kind, place }) => [kind, place?.line]),
    [["form", 3]],
  );
});

test("invalid members are named", async () => {
  const record = JSON.parse(made.lines[3] ?? "");
  const wrong: readonly (readonly [string, unknown])[] = [
    ["node", ""],
    ["node", "n".repeat(300)],
    ["kid", "k"],
    ["seq", -1],
    ["seq", 1.5],
    ["seq", 1e300],
    ["prev", 1],
    ["hash", "h"],
    ["sig", "s"],
    ["ts", "today"],
    ["event", "chain.end"],
    ["controls", "AC-3"],
    ["data", []],
    ["audit", 2],
  ];
  for (const [name, value] of wrong) {
    const report = await verifyLines([...made.lines, JSON.stringify({ ...record, [name]: value })]);
    assert.deepEqual(
      report.findings.map(({ kind }) => kind),
      ["form"],
      name,
    );
    assert.equal(report.findings[0]?.place?.line, 13);
  }
});

test("however the input is cut into chunks, the report is the same", async () => {
  const text = Buffer.from(textOf([LOG, ...made.lines, "é".repeat(70_000), ...made.lines.slice(4, 6)]));
  const whole = await verifyChunks([text]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 40 }), async (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const chunks = at.slice(1).map((end, index) => text.subarray(at[index], end));
      assert.deepEqual(await verifyChunks(chunks), whole);
    }),
    { numRuns: 50 },
  );
});

test("the verifier ends with a report for any input bytes", async () => {
  const pieces = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.constantFrom(...made.lines, LOG, "\n", "\r\n", '{"audit":1,', '"audit"').map((text) => Buffer.from(text)),
    fc.tuple(fc.constantFrom(...made.lines), fc.nat(700), fc.nat(255)).map(([line, at, byte]) => {
      const bytes = Buffer.from(line);
      bytes[at % bytes.length] = byte;
      return bytes;
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 20 }), async (chunks) => {
      const { findings, records, chains } = await verifyChunks(chunks);
      assert.ok(findings.length > 0 || records > 0);
      assert.ok(chains.every(({ records: distinct }) => distinct >= 1));
    }),
    { numRuns: 300 },
  );
});

test("records in any order, some repeated, verify alike", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...made.lines], { minLength: 12 }),
      fc.subarray([...made.lines]),
      async (all, more) => {
        const report = await verifyLines([...all, ...more]);
        assert.deepEqual(report.findings, []);
        assert.equal(report.chains[0]?.copies, more.length);
      },
    ),
    { numRuns: 50 },
  );
});

test("chains of several nodes and files are separated in one pass, with and without threads", async () => {
  const trails = Array.from({ length: 6 }, (_, at) => makeTrail({ node: `n${at}`, records: 700 }));
  const mixed = Array.from({ length: 700 }, (_, seq) => trails.map(({ lines }) => lines[seq] ?? "")).flat();
  const damaged = mixed.with(4_000, mixed[4_000]?.replace('"verdict"', '"other"').replace('"AC-3"', '"AC-4"') ?? "");
  const half = damaged.length / 2;
  const reports = [];
  for (const threads of [0, 2]) {
    const inputs = [
      { name: "second", chunks: one(textOf(damaged.slice(half))) },
      { name: "first", chunks: one(textOf(damaged.slice(0, half))) },
    ];
    reports.push(await verifyTrail(inputs, { threads }));
  }
  assert.deepEqual(reports[1], reports[0]);
  assert.deepEqual(
    reports[0]?.chains.map(({ records }) => records),
    Array(6).fill(700),
  );
  assert.deepEqual(
    reports[0]?.findings.map(({ kind, node, seq, place }) => [kind, node, seq, place?.file]),
    [["altered", "n4", 666, "second"]],
  );
});

test("a thousand findings of a kind are listed in part and counted in full", async () => {
  const { lines } = makeTrail({ records: 300 });
  const report = await verifyLines(lines.map((line) => line.replace('"AC-3"', '"AC-4"')));
  assert.equal(report.findings.length, 20);
  assert.equal(report.unlisted, 279);
});

test("fingerprints above the limit are dropped, oldest first", () => {
  const store = createFingerprints(2);
  const chain = store.chain();
  const [hash, other] = ["A".repeat(43), "B".repeat(43)];
  for (const seq of [0, 5_000, 10_000]) chain.put(seq, hash);
  assert.deepEqual(
    [0, 5_000, 10_000, 10_001].map((seq) => chain.compare(seq, hash)),
    ["given up", "same", "same", "unknown"],
  );
  assert.equal(chain.compare(5_000, other), "other");
});

test("an abort ends the verification", async () => {
  await assert.rejects(verifyLines(made.lines, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a heads file is an array of heads; anything else is refused with the reason", () => {
  const head = { node: "n1", kid: "k".repeat(43), seq: 4, hash: "h".repeat(43) };
  assert.deepEqual(parseHeads(JSON.stringify([{ ...head, at: 1 }])), [head]);
  assert.deepEqual(parseHeads("[]"), []);
  for (const [text, pattern] of [
    ["", /not JSON/],
    ["{}", /not a JSON array/],
    ["[1]", /entry 0/],
    [JSON.stringify([head, { ...head, seq: "4" }]), /entry 1/],
    [JSON.stringify([{ ...head, hash: "x" }]), /entry 0/],
  ] as const) {
    assert.throws(() => parseHeads(text), pattern);
  }
});

test("a key must match its kid", () => {
  const { kid, raw } = made.key;
  for (const encoding of ["base64", "base64url"] as const) {
    const parsed = parseChainKey(`${kid}=${raw.toString(encoding)}`);
    assert.deepEqual([parsed.kid, Buffer.from(parsed.raw)], [kid, raw]);
  }
  for (const text of [
    "",
    kid,
    `${kid}=`,
    `${kid}=AAAA`,
    `x=${raw.toString("base64")}`,
    `${kid}=${Buffer.alloc(32).toString("base64")}`,
  ]) {
    assert.throws(() => parseChainKey(text), /KID=BASE64|32 bytes|thumbprint/, text);
  }
});
