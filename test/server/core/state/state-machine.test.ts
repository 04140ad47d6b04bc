import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  commands,
  createRows,
  createState,
  createStateDecoder,
  encodeProposal,
  loadState,
  type NamedCommand,
  type State,
} from "../../../../src/server/core/state/index.ts";
import { assertDigest, DAY, HOUR, member, proposalOf, START, stateFile } from "./harness.ts";

const name = fc.constantFrom("a", "b", "c", "ü/x");
const dk = fc.constantFrom("dk-1", "dk-2");
const sealed = dk.map((id) => ({ dk: id, n: "B".repeat(16), ct: "AAAA" }));
const wraps = [{ kek: "s:1f0a2b3c", n: "A".repeat(16), ct: "AAAA" }];
const expect = fc.option(fc.integer({ min: 1, max: 4 }));
const member0 = {
  storage: "a".repeat(32),
  raft_addr: "",
  forward_addr: "",
  version: "",
  proto: [1, 1],
  feature: [1, 1],
} as const;
/** SHA-256 of "x" and of "y". */
const texts = fc.constantFrom(
  { text: "x", sha256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" },
  { text: "y", sha256: "a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa" },
);

const command: fc.Arbitrary<NamedCommand> = fc.oneof(
  fc.record({ id: fc.constantFrom("n2", "n3") }).map(({ id }) => commands.nodeStart({ id, ...member0 })),
  fc.tuple(name, fc.constantFrom("aaaa", "bbbb", "cccc")).map(([each, id]) =>
    commands.keyCreate({
      id,
      name: each,
      profile: null,
      metadata: { [each]: id },
      digest: "ab".repeat(32),
      expires_in_ms: 5,
    }),
  ),
  name.map((each) => commands.keyPatch({ name: each, profile: each })),
  name.map((each) => commands.keyDelete({ name: each })),
  name.map((each) => commands.keyRotate({ name: each, id: "dddd", digest: "cd".repeat(32) })),
  fc
    .tuple(name, fc.option(fc.constant(HOUR)))
    .map(([each, duration_ms]) => commands.suspensionPut({ kind: "model", name: each, reason: "r", duration_ms })),
  name.map((each) => commands.suspensionDelete({ kind: "model", name: each })),
  fc
    .tuple(texts, fc.constantFrom("default", "other"), fc.option(fc.integer({ min: 1, max: 3 })))
    .map(([text, of, version]) =>
      commands.sourcePut({ ...text, name: of, version, writer: "api", expect_revision: null, trigger: "api" }),
    ),
  fc
    .tuple(texts, fc.constantFrom("seed" as const, "reload" as const))
    .map(([text, trigger]) =>
      commands.sourcePut({ ...text, name: "default", version: null, writer: "file", expect_revision: null, trigger }),
    ),
  fc
    .constantFrom("file" as const, "api" as const)
    .map((writer) => commands.sourceDelete({ name: "default", writer, expect_revision: null })),
  fc.integer({ min: 1, max: 4 }).map((to) => commands.sourceRollback({ name: "default", to, expect_revision: null })),
  dk.map((id) => commands.ringAdd({ id, alg: "A256GCM", wraps, created: 1 })),
  dk.map((id) => commands.ringActivate({ id })),
  dk.map((id) => commands.ringDrop({ id })),
  fc.tuple(expect, sealed).map(([version, value]) => commands.secretPut({ name: "s", expect: version, sealed: value })),
  sealed.map((value) => commands.secretReseal({ name: "s", ver: 1, sealed: value })),
  fc
    .tuple(fc.constantFrom("n1", "n2"), fc.constantFrom(1, 1, 1, 2), fc.nat(80), fc.nat(300))
    .map(([node, inc, spent, want]) =>
      commands.usageReport({
        node,
        inc,
        rows: [
          { b: "b/t", w: Math.floor(START / HOUR), window_ms: HOUR, limit: 500, limit_rev: 1, spent, want, ret: 1 },
        ],
      }),
    ),
  fc.nat(9).map((n) => commands.reconcilePut({ rows: [{ day: `2026-11-1${n}`, id: "i", fields: { n }, seen: 0 }] })),
  fc.nat(9).map((n) => commands.reconcileDrop({ before: `2026-11-1${n}` })),
  sealed.map((value) => commands.certPut({ id: "c", names: [], not_after: 1, expect: null, sealed: value })),
  fc
    .tuple(fc.nat(3), fc.constantFrom("a", "b"))
    .map(([seq, letter]) => commands.auditWitness({ node: "n1", kid: "k".repeat(20), seq, hash: letter.repeat(43) })),
  fc.nat(2).map((part) => commands.blobPut({ sha256: "0".repeat(64), part, of: 3, data: "AAAA" })),
  fc.constant(commands.featSet({ level: 1 })),
  fc.nat(30).map((index) => commands.stateCheck({ index, digest: "0".repeat(32) })),
  // Fields of one command under another's name, and arbitrary fields.
  fc
    .tuple(fc.constantFrom("key.create", "source.put", "usage.report", "state.restore", "node.start"), fc.jsonValue())
    .map(([t, p]) => ({ t, v: 1, p })),
);

type Step =
  | {
      readonly kind: "command";
      readonly command: NamedCommand;
      readonly c: string;
      readonly s: number;
      readonly k: string | undefined;
      readonly later: number;
    }
  | { readonly kind: "bytes"; readonly data: Uint8Array }
  | { readonly kind: "members"; readonly ids: readonly string[] };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("command" as const),
      command,
      c: fc.constantFrom("c1", "c2", "c3"),
      s: fc.integer({ min: 1, max: 300 }),
      k: fc.oneof(
        { weight: 12, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom("p/1", "p/2") },
      ),
      later: fc.oneof({ weight: 9, arbitrary: fc.nat(1_000) }, { weight: 1, arbitrary: fc.constantFrom(HOUR, DAY) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("bytes" as const),
      data: fc.oneof(fc.constant(new Uint8Array(0)), garbage()),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("members" as const),
      ids: fc.subarray(["n2", "n3"]).map((ids) => ["n1", ...ids]),
    }),
  },
);

/** Excludes newer formats, which are meant to stop a machine. */
function garbage(): fc.Arbitrary<Uint8Array> {
  const json = fc.oneof(fc.json(), fc.string()).map((text) => encodeProposal(START, new TextEncoder().encode(text)));
  return fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => bytes.with(0, (bytes[0] ?? 0) % 2)),
    json,
  );
}

/** Long enough for commands to interact with earlier ones. */
const steps = fc.array(step, { maxLength: 100, size: "max" });

function feed(state: State, steps: readonly Step[]): readonly unknown[] {
  let now = state.applied.now === 0 ? START : state.applied.now;
  return steps.map((each) => {
    const position = { index: state.applied.index + 1, term: 1 };
    switch (each.kind) {
      case "command": {
        now += each.later;
        const repeat = each.k === undefined ? {} : { k: each.k, kd: each.command.t };
        const data = proposalOf(each.command, { c: each.c, s: each.s, ...repeat }, now);
        return state.apply({ ...position, data });
      }
      case "bytes":
        return state.apply({ ...position, data: each.data });
      case "members":
        return state.applyConfiguration({ ...position, data: new Uint8Array(0) }, new Uint8Array(0), each.ids);
      default:
        return each satisfies never;
    }
  });
}

const begin = () => createState({ members: [member("n1", { incarnation: 1 }), member("n2", { incarnation: 1 })] });

function reloaded(state: State): State {
  const decoder = createStateDecoder();
  const rows = decoder.push(stateFile(state));
  decoder.end();
  return loadState({ applied: state.applied, rows });
}

test("two machines with the same entries are identical, and so is one restored on the way", () => {
  fc.assert(
    fc.property(steps, fc.nat(100), (list, cut) => {
      const [one, other] = [begin(), begin()];
      const outcomes = feed(one, list);
      assert.deepEqual(feed(other, list), outcomes);
      assert.equal(one.digest, other.digest);
      assert.deepEqual(stateFile(one), stateFile(other));
      assertDigest(one);

      const before = begin();
      feed(before, list.slice(0, cut));
      const restored = reloaded(before);
      assert.deepEqual(feed(restored, list.slice(cut)), outcomes.slice(cut));
      assert.deepEqual(stateFile(restored), stateFile(one));
      assert.deepEqual(restored.applied, one.applied);
    }),
    { numRuns: 80 },
  );
});

test("the mutations of the outcomes build an equal copy, each key once and in order", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const state = begin();
      const copy = createRows();
      copy.apply(Array.from(state.scan(""), ([key, value]) => ({ key, value })));
      for (const outcome of feed(state, list) as readonly ReturnType<State["apply"]>[]) {
        const keys = outcome.mutations.map(({ key }) => key);
        assert.deepEqual(keys, [...new Set(keys)].sort());
        copy.apply(outcome.mutations);
      }
      assert.deepEqual([...copy.scan("")], [...state.scan("")]);
      assert.deepEqual([copy.size, copy.byteLength], [state.rowCount, state.byteLength]);
    }),
    { numRuns: 50 },
  );
});

test("log time never goes back, and a leader's first entry only moves the index", () => {
  const state = createState();
  const lift = commands.suspensionDelete({ kind: "key", name: "x" });
  state.apply({ index: 1, term: 1, data: proposalOf(lift, { s: 1 }, START) });
  state.apply({ index: 2, term: 1, data: proposalOf(lift, { s: 2 }, START - HOUR) });
  assert.deepEqual(state.applied, { index: 2, term: 1, now: START });
  assert.deepEqual(state.apply({ index: 3, term: 2, data: new Uint8Array(0) }), {
    result: undefined,
    mutations: [],
    replacement: undefined,
  });
  assert.deepEqual(state.applied, { index: 3, term: 2, now: START });
});

test("an entry that does not follow the last one is not applied", () => {
  const state = createState({ applied: { index: 5, term: 2, now: 0 } });
  for (const [index, term] of [
    [5, 2],
    [7, 2],
    [6, 1],
  ] as const) {
    assert.throws(() => state.apply({ index, term, data: new Uint8Array(0) }), RangeError);
  }
  state.apply({ index: 6, term: 2, data: new Uint8Array(0) });
});

test("an invalid command is refused and leaves nothing behind", () => {
  const good = { v: 1, t: "key.delete", id: "a", c: "c", s: 1, by: { iss: "i", sub: "s" }, p: {} };
  const state = createState();
  for (const wrong of [
    7,
    null,
    {},
    { ...good, t: "Key Delete" },
    { ...good, v: 0 },
    { ...good, c: "a/b" },
    { ...good, c: "" },
    { ...good, s: 0 },
    { ...good, s: "1" },
    { ...good, by: { iss: "i" } },
    { ...good, by: { iss: "i", sub: "s", more: 1 } },
    { ...good, k: "a" },
    { ...good, kd: "a" },
    { ...good, id: "" },
    { ...good, more: 1 },
  ]) {
    const data = encodeProposal(START, new TextEncoder().encode(JSON.stringify(wrong)));
    const { result, mutations } = state.apply({ index: state.applied.index + 1, term: 1, data });
    assert.deepEqual([result?.kind === "refused" && result.code, mutations], ["invalid", []], JSON.stringify(wrong));
  }
});
