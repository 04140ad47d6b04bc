/** Records of requests: packed ones are read back within their memory limits, also by another process. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  CHUNK_ROWS,
  createRecordStore,
  FACT,
  findingsText,
  type PackedChunk,
  RecordChunk,
  type RecordedRequest,
  readFindings,
  unpack,
} from "../../../../src/server/core/rehearsal/index.ts";
import { decodeChunk, encodeChunk } from "../../../../src/server/workers/index.ts";

const BASE: RecordedRequest = {
  at: 1_700_000_000_000.25,
  totalMs: 12,
  id: "5dcd7c83-2f88-4412-acf1-12dd43543798",
  configuration: "digest-1",
  traffic: "llm",
  dialect: "compat",
  facts: FACT.namesModel | FACT.isAdmitted,
  caller: '{"kind":"key"}',
  route: "POST /v1/chat/completions",
  model: "model-1",
  routed: "a",
  to: "a",
  provider: "a",
  method: "",
  name: "",
  role: "",
  status: 200,
  code: "",
  by: "rule two",
  acted: "",
  findings: "",
  attempts: 1,
  bodyBytes: 321,
  units: 17.5,
  least: 4,
  most: 64,
};

const text = (maxLength: number) => fc.string({ maxLength });
const requests = fc.record(
  {
    at: fc.double({ min: 0, max: 4e12, noNaN: true }),
    totalMs: fc.nat(),
    id: fc.stringMatching(/^[!-~]{1,128}$/),
    configuration: text(16),
    traffic: fc.constantFrom("none", "llm", "mcp", "a2a", "websocket"),
    dialect: fc.constantFrom("", "compat", "messages"),
    facts: fc.nat(2 ** 18 - 1),
    caller: text(300),
    route: text(64),
    model: text(256),
    routed: text(64),
    to: text(64),
    provider: text(64),
    method: text(64),
    name: text(256),
    role: text(16),
    status: fc.nat(599),
    code: text(32),
    by: text(64),
    acted: text(64),
    findings: text(300),
    attempts: fc.nat(255),
    bodyBytes: fc.nat(),
    units: fc.double({ min: 0, max: 1e12, noNaN: true }),
    least: fc.integer({ min: -1, max: 1_000_000 }),
    most: fc.integer({ min: -1, max: 1_000_000 }),
  },
  { noNullPrototype: true },
) as fc.Arbitrary<RecordedRequest>;

const packed = (all: readonly RecordedRequest[]): PackedChunk => {
  const chunk = new RecordChunk();
  for (const request of all) chunk.add(request);
  return chunk.pack();
};

describe("request records", () => {
  test("are read as written, here and by another process", () => {
    const property = fc.property(fc.array(requests, { maxLength: 40 }), (all) => {
      const chunk = packed(all);
      assert.deepEqual([...unpack(chunk)], all);
      assert.deepEqual([...unpack(decodeChunk(JSON.parse(JSON.stringify(encodeChunk(chunk)))))], all);
    });
    fc.assert(property, { numRuns: 200 });
  });

  test("report a name that is too long to keep, and keep a caller in full or not at all", () => {
    const long = "m".repeat(300);
    const [request] = unpack(packed([{ ...BASE, model: long, caller: "c".repeat(5_000) }]));
    assert.equal(request?.model, long.slice(0, 256));
    assert.equal(request?.caller, "");
    assert.equal((request?.facts ?? 0) & FACT.isCut, FACT.isCut);
    const [found] = unpack(packed([{ ...BASE, findings: "f".repeat(5_000) }]));
    assert.equal((found?.facts ?? 0) & FACT.findingsCut, FACT.findingsCut);
  });

  test("take at most 150 bytes per request, with 50 callers and 40 models", () => {
    const store = createRecordStore(64 << 20, 0);
    for (let i = 0; i < 20_000; i++) {
      const caller = JSON.stringify({ kind: "key", key: { id: `id-${i % 50}`, name: `team-${i % 50}`, metadata: {} } });
      store.add({ ...BASE, at: i, caller, model: `model-${i % 40}` });
    }
    assert.ok(store.bytes() <= 150 * 20_000, `${store.bytes() / 20_000} bytes a request`);
  });

  test("keep the newest within limits of number and bytes, and report since when they are complete", () => {
    const store = createRecordStore(64 << 20, 5, 3_000);
    for (let i = 0; i < 10_000; i++) store.add({ ...BASE, at: 1_000 + i, id: `request-${i}` });
    const kept = store.read().flatMap(({ chunk }) => [...unpack(chunk)]);
    assert.ok(kept.length >= 3_000 && kept.length <= 3_000 + 2 * CHUNK_ROWS, `${kept.length}`);
    assert.equal(kept.at(-1)?.id, "request-9999");
    assert.equal(kept[0]?.at, store.since() + 1);
    const small = createRecordStore(300_000, 5);
    assert.equal(small.since(), 5);
    for (let i = 0; i < 50_000; i++) small.add({ ...BASE, at: i, model: `model-${i}` });
    assert.ok(small.bytes() <= 300_000 + 500_000, `${small.bytes()}`);
  });

  test("continue from a chunk, whatever was dropped meanwhile, and are read in full from another process", () => {
    const store = createRecordStore(64 << 20, 0, 2_000);
    for (let i = 0; i < 2_500; i++) store.add({ ...BASE, at: i });
    const [, second] = store.read();
    assert.ok(second);
    store.take(packed(Array.from({ length: 900 }, (_, i) => ({ ...BASE, at: 5_000 + i }))));
    store.take(packed([{ ...BASE, at: 9_000 }]));
    const all = store.read().flatMap(({ chunk }) => [...unpack(chunk)]);
    assert.equal(all.at(-1)?.at, 9_000);
    assert.equal(store.read(second.number)[0]?.number, second.number);
    assert.throws(() => store.take({ count: 600, rows: new Uint8Array(10), texts: [] }), RangeError);
  });

  test("have findings by direction, type, detector and kind, in one order", () => {
    const text = findingsText(
      new Map([
        ["response\u0001pii/EMAIL\u0001finder\u0001", 2],
        ["request\u0001pii/EMAIL\u0001finder\u0001user", 1],
      ]),
    );
    assert.deepEqual(readFindings(text), [
      { direction: "request", type: "pii/EMAIL", detector: "finder", kind: "user", count: 1 },
      { direction: "response", type: "pii/EMAIL", detector: "finder", kind: "", count: 2 },
    ]);
    assert.deepEqual(readFindings(""), []);
  });
});
