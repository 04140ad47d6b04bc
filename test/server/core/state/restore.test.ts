import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import {
  type ApplyOutcome,
  commands,
  createRows,
  createStateEncoder,
  featureRowKey,
  MAX_PART_BYTES,
  memberRowKey,
  type NamedCommand,
  readMember,
  readUsage,
  revisionRowKey,
  revisionsOf,
  usageRowKey,
} from "../../../../src/server/core/state/index.ts";
import { assertDigest, type Bench, bench, HOUR, member, START, stateFile } from "./harness.ts";

const WINDOW = Math.floor(START / HOUR);
const key = (name: string, id = `${name}-0000`.replace("-", "x")) =>
  commands.keyCreate({
    id,
    name,
    profile: null,
    metadata: {},
    digest: "ab".repeat(32),
    expires_in_ms: null,
  });
const report = (limit = 1_000) => ({
  b: "b/t",
  w: WINDOW,
  window_ms: HOUR,
  limit,
  limit_rev: 1,
  spent: 10,
  want: 100,
  ret: 0,
});

/** Restores an archive like an operator: its bytes as uploads, then the command that uses them. */
function restore(at: Bench, archive: Buffer, announced: Partial<{ rows: number; digest: string }> = {}) {
  const sha256 = createHash("sha256").update(archive).digest("hex");
  const parts = Math.ceil(archive.length / MAX_PART_BYTES);
  for (let part = 0; part < parts; part += 1) {
    const data = archive.subarray(part * MAX_PART_BYTES, (part + 1) * MAX_PART_BYTES).toString("base64");
    at.ok(commands.blobPut({ sha256, part, of: parts, data }));
  }
  return commands.stateRestore({
    sha256,
    parts,
    rows: Number(archive.readBigUInt64BE(archive.length - 24)),
    digest: archive.subarray(-16).toString("hex"),
    ...announced,
  });
}

/** Returns the rows after a restore, as they are written to the disk: the replacement and the mutations. */
function rowsAfter({ replacement = [], mutations }: ApplyOutcome) {
  const rows = createRows();
  rows.apply(replacement.map(([name, value]) => ({ key: name, value })));
  rows.apply(mutations);
  return [...rows.scan("")];
}

const archiveOf = (rows: Readonly<Record<string, string>>): Buffer => {
  const sorted = createRows();
  sorted.apply(Object.entries(rows).map(([name, value]) => ({ key: name, value })));
  return stateFile(sorted);
};

function lived(): Bench {
  const at = bench({ members: [member("old", { incarnation: 4 })] });
  at.ok(key("a"));
  at.ok(commands.usageReport({ node: "old", inc: 4, rows: [report()] }), { k: "unix:0/x", kd: "y" });
  at.ok(commands.suspensionPut({ kind: "key", name: "a", reason: "", duration_ms: null }));
  return at;
}

test("a restored state is that of the archive, with the members of the current cluster", () => {
  const archive = stateFile(lived().state);
  const at = bench({ members: [member("n1", { incarnation: 7 })] });
  at.ok(key("gone"));
  at.ok(commands.featSet({ level: 1 }));
  const outcome = at.apply(restore(at, archive), { c: "x", s: 1, k: "unix:0/r", kd: "r" });
  assert.deepEqual([rowsAfter(outcome), outcome.result?.kind], [[...at.state.scan("")], "ok"]);
  assert.deepEqual(
    Array.from(at.state.scan(""), ([each]) => each.replace(/[0-9a-f]{64}/, "<digest>")),
    [
      featureRowKey,
      "idem/<digest>",
      "key/a",
      "keyid/ax0000",
      "member/n1",
      "sess/x",
      "sess/x/0000000000000001",
      "susp/key:a",
      `usage/b%2Ft/${String(HOUR).padStart(16, "0")}/${String(WINDOW).padStart(16, "0")}`,
    ].filter((each) => each !== featureRowKey),
  );
  assertDigest(at.state);
});

test("grants in the archive count as used, and earlier reports are refused", () => {
  const at = bench({ members: [member("n1", { incarnation: 7 })] });
  at.ok(restore(at, stateFile(lived().state)));
  const usage = readUsage(at.state.get(usageRowKey({ bucket: "b/t", window_ms: HOUR, window: WINDOW })) ?? "");
  assert.deepEqual([usage.used, usage.open, usage.granted, usage.spent], [100, 0, 0, 0]);
  assert.ok(readMember(at.state.get(memberRowKey("n1")) ?? "").incarnation > 7);
  const late = commands.usageReport({ node: "n1", inc: 7, rows: [report()] });
  assert.equal(at.refusal(late), "stale_incarnation");
});

test("a repeated restore is not applied again", () => {
  const at = bench();
  const command = restore(at, stateFile(lived().state));
  at.ok(command, { c: "x", s: 1 });
  at.ok(key("later"));
  const again = at.apply(command, { c: "x", s: 1 });
  assert.deepEqual([again.replacement, again.mutations, again.result?.kind], [undefined, [], "ok"]);
  assert.ok(at.state.get("key/later") !== undefined);
});

test("a restored state machine continues like any other", () => {
  const at = bench();
  at.ok(restore(at, stateFile(lived().state)));
  assert.equal(at.refusal(key("a", "other000")), "exists");
  at.ok(key("b"));
  at.now += 10 * HOUR;
  at.ok(key("c"));
  assert.deepEqual([...at.state.scan("usage/")], []);
  assertDigest(at.state);
});

test("an archive other than the announced one is refused", () => {
  const archive = stateFile(lived().state);
  const at = bench();
  assert.equal(at.refusal(restore(at, archive, { digest: "0".repeat(32) })), "malformed_state");
  assert.equal(at.refusal(restore(at, archive, { rows: 1 })), "malformed_state");
  const command = restore(at, archive);
  const p = { ...(command.p as object), sha256: "0".repeat(64) };
  assert.equal(at.refusal({ ...command, p }), "blob_incomplete");
  assert.equal(
    at.refusal(restore(at, Buffer.concat([archive, Buffer.alloc(40)]), { rows: 1, digest: "0".repeat(32) })),
    "malformed_state",
  );
});

test("rows that no command could have made are refused before any change", () => {
  const good = JSON.parse((lived().state.get("key/a") ?? "").slice(1));
  for (const rows of [
    { "key/a": "2{}" },
    { "key/a": "1{" },
    { "key/a": "1null" },
    { "key/b": `1${JSON.stringify(good)}` },
    { "key/a": `1${JSON.stringify({ ...good, digest: "x" })}` },
    { "keyid/a b": "1" },
    { "other/a": "1{}" },
    { noslash: "1{}" },
    { "constructor/a": "1{}" },
    { "head/n1/conflict": "1{}" },
    { "usage/x": "1{}" },
  ] as readonly Readonly<Record<string, string>>[]) {
    const encodable = Object.keys(rows).every((each) => !each.includes(" "));
    if (!encodable) {
      assert.throws(() => archiveOf(rows));
      continue;
    }
    const at = bench();
    assert.equal(at.refusal(restore(at, archiveOf(rows))), "malformed_state", JSON.stringify(rows));
  }
});

test("witnessed heads survive a restore: the running chain is not a fork of the archived one", () => {
  const witness = (kid: string, seq: number, letter: string, succeeds?: null) =>
    commands.auditWitness({
      node: "n1",
      kid: kid.repeat(43),
      seq,
      hash: letter.repeat(43),
      ...(succeeds === null && { succeeds }),
    });
  const before = bench({ members: [member("n1", { incarnation: 1 })] });
  before.ok(witness("A", 1_000, "a"));
  before.ok(witness("C", 1_001, "c"));
  const archive = stateFile(before.state);

  const at = bench({ members: [member("n1", { incarnation: 1 })] });
  at.ok(witness("B", 0, "b", null));
  at.ok(witness("C", 7, "d"));
  at.ok(restore(at, archive));
  assert.deepEqual(at.ok(witness("B", 5, "e")), { outcome: "witnessed" });
  assert.deepEqual(
    Array.from(at.state.scan("head/"), ([key, value]) => [key.slice(-1), JSON.parse(value.slice(1)).seq]),
    [
      ["A", 1_000],
      ["B", 5],
      ["C", 1_001],
    ],
  );
});

test("an older archive moves no head back, and one with a different record of the same number is evidence of a fork", () => {
  const witness = (seq: number, letter: string) =>
    commands.auditWitness({ node: "n1", kid: "A".repeat(43), seq, hash: letter.repeat(43) });
  const at = bench({ members: [member("n1", { incarnation: 1 })] });
  at.ok(witness(10, "a"));
  const old = stateFile(at.state);
  at.ok(witness(20, "b"));
  at.ok(restore(at, old));
  assert.deepEqual(at.ok(witness(20, "b")), { outcome: "known" });

  const other = bench({ members: [member("n1", { incarnation: 1 })] });
  other.ok(witness(20, "x"));
  other.ok(restore(other, stateFile(at.state)));
  assert.ok(other.state.get("head/n1/conflict")?.includes('"count":1'));
});

test("rows that are well formed but inconsistent block nothing", () => {
  const node = "old";
  const window = { bucket: "b/t", window_ms: HOUR, window: WINDOW };
  const held = { ...window, node, inc: 4, granted: 500, returned: 0, spent: 0 };
  const usage = { ...window, limit: 1, limit_rev: 1, used: 0, open: 0, granted: 0, spent: 0 };
  const name = usageRowKey(window);
  const archive = archiveOf({
    [name]: `1${JSON.stringify(usage)}`,
    [name.replace("usage/", `alloc/${node}/`)]: `1${JSON.stringify(held)}`,
  });
  const at = bench();
  assert.equal(at.refusal(restore(at, archive)), "state_fault");
});

test("a feature level above the members' is refused, and the level is never lowered", () => {
  const feature = { min: 1, max: 3 };
  const at = bench({ feature, members: [member("n1", { feature: [1, 2] })] });
  at.ok(commands.featSet({ level: 2 }));
  assert.equal(at.refusal(restore(at, archiveOf({ "feat/level": '1{"level":3}' }))), "feature_unsupported");
  at.ok(restore(at, archiveOf({})));
  assert.equal(at.state.get(featureRowKey), '1{"level":2}');
});

test("an archive in several parts is assembled", () => {
  const encoder = createStateEncoder();
  const chunks: Uint8Array[] = [encoder.header()];
  for (let n = 0; n < 6_000; n += 1) {
    const id = `k${String(n).padStart(7, "0")}`;
    const row = { id, name: id, profile: null, metadata: {}, digest: "ab".repeat(32), created_at: 1, expires_at: null };
    chunks.push(encoder.row(`key/${id}`, `1${JSON.stringify(row)}`));
  }
  const archive = Buffer.concat([...chunks, encoder.end()]);
  assert.ok(archive.length > MAX_PART_BYTES);
  const at = bench();
  at.ok(restore(at, archive));
  assert.equal(Array.from(at.state.scan("keyid/")).length, 6_000);
});

test("an archive of more than 128 MiB is restored from feature level 5 on, and refused as malformed below it", () => {
  const encoder = createStateEncoder();
  const chunks: Uint8Array[] = [encoder.header()];
  const text = "x".repeat(7 << 20);
  const facts = { name: "big", writer: "api", version: null, sha256: "ab".repeat(32), bytes: text.length, at: 1 };
  for (let revision = 1; revision <= 20; revision += 1) {
    const row = { ...facts, revision, by: { iss: "local", sub: "unix:0" }, kind: "put", text };
    chunks.push(encoder.row(revisionRowKey("big", revision), `1${JSON.stringify(row)}`));
  }
  const archive = Buffer.concat([...chunks, encoder.end()]);
  const of = Math.ceil(archive.length / MAX_PART_BYTES);
  assert.ok(of > 256);

  const at = bench({ members: [member("n1", { feature: [1, 5] })] });
  const first = { sha256: "ab".repeat(32), part: 0, of, data: "AAAA" };
  for (const level of [2, 4]) {
    at.ok(commands.featSet({ level }));
    assert.equal(at.refusal(commands.blobPut(first)), "invalid");
    assert.equal(
      at.refusal(commands.stateRestore({ sha256: first.sha256, parts: of, rows: 1, digest: "0".repeat(32) })),
      "invalid",
    );
  }
  at.ok(commands.featSet({ level: 5 }));
  at.ok(restore(at, archive));
  assert.equal(Array.from(at.state.scan(revisionsOf("big"))).length, 20);
  assert.equal(at.refusal(commands.blobPut({ ...first, of: 4_097 })), "invalid");
});

test("a long restore is prepared in short steps beside the state, and put in place at once", () => {
  const from = bench({ members: [member("old", { incarnation: 4 })] });
  for (let at = 0; at < 5_000; at += 1) from.ok(key(`key${String(at).padStart(5, "0")}`));
  from.ok(commands.usageReport({ node: "old", inc: 4, rows: [report()] }));
  const archive = stateFile(from.state);
  const apply = (at: Bench, command: NamedCommand) => at.state.applyOrPrepare(at.entry(command));

  const [stepped, whole] = [bench({ members: [member("n1")] }), bench({ members: [member("n1")] })];
  for (const at of [stepped, whole]) at.ok(key("gone"));
  const outcome = apply(stepped, restore(stepped, archive));
  assert.ok(!("result" in outcome), "a restore has steps");
  const before = { digest: stepped.state.digest, applied: stepped.state.applied, rows: stepped.state.rowCount };
  let steps = 0;
  let step = outcome.next();
  for (; step.done !== true; step = outcome.next()) steps += 1;
  const { digest, applied, rowCount: rows } = stepped.state;
  assert.deepEqual({ digest, applied, rows }, before);
  assert.ok(steps >= from.state.rowCount / 1_000, `${steps} steps`);
  const done = step.value();
  assert.deepEqual([rowsAfter(done), done.result?.kind], [[...stepped.state.scan("")], "ok"]);

  whole.ok(restore(whole, archive));
  assert.equal(stepped.state.digest, whole.state.digest);
  assert.deepEqual(stepped.state.applied, whole.state.applied);
  assertDigest(stepped.state);
});

test("a restore that is refused after some steps changes nothing but the memory of the command", () => {
  const at = bench({ members: [member("n1")] });
  at.ok(key("stays"));
  const archive = stateFile(at.state);
  const outcome = at.state.applyOrPrepare(at.entry(restore(at, archive, { rows: 1 })));
  assert.ok(!("result" in outcome));
  let step = outcome.next();
  while (step.done !== true) step = outcome.next();
  const { replacement, result, mutations } = step.value();
  assert.equal(replacement, undefined);
  assert.ok(result?.kind === "refused" && result.code === "malformed_state");
  assert.ok(mutations.every((mutation) => mutation.key.startsWith("sess/")));
});

test("malformed fields are refused", () => {
  const at = bench();
  for (const p of [{}, { sha256: "x", parts: 1, rows: 0, digest: "0".repeat(32) }, null]) {
    assert.equal(at.refusal({ t: "state.restore", v: 1, p }), "invalid");
  }
});
