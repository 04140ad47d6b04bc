import assert from "node:assert/strict";
import { test } from "node:test";
import { commands, keyIdRowKey, keyRowKey, readKey, readKeyName } from "../../../../src/server/core/state/index.ts";
import { bench, HOUR, START } from "./harness.ts";

const input = {
  id: "abcd1234",
  name: "ci runner",
  profile: "default",
  metadata: { team: "build" },
  digest: "ab".repeat(32),
  expires_in_ms: null,
};

const created = () => {
  const at = bench();
  at.ok(commands.keyCreate(input));
  return at;
};

const row = ({ state }: ReturnType<typeof bench>, name = input.name) => readKey(state.get(keyRowKey(name)) ?? "");

test("a created key is found by its name and by its id", () => {
  const at = created();
  const { expires_in_ms, ...stored } = input;
  assert.deepEqual(row(at), { ...stored, created_at: START, expires_at: expires_in_ms });
  assert.equal(readKeyName(at.state.get(keyIdRowKey("abcd1234")) ?? ""), "ci runner");
});

test("a key's lifetime is measured in log time", () => {
  const at = bench();
  at.ok(commands.keyCreate({ ...input, expires_in_ms: HOUR }));
  assert.equal(row(at).expires_at, START + HOUR);
  at.now += HOUR;
  at.ok(commands.keyPatch({ name: input.name, expires_in_ms: 2 * HOUR }));
  assert.equal(row(at).expires_at, START + 3 * HOUR);
  at.ok(commands.keyPatch({ name: input.name, expires_in_ms: null }));
  assert.equal(row(at).expires_at, null);
});

test("names and ids are unique", () => {
  const at = created();
  assert.equal(at.refusal(commands.keyCreate({ ...input, id: "other123" })), "exists");
  assert.equal(at.refusal(commands.keyCreate({ ...input, name: "other" })), "exists");
  at.ok(commands.keyCreate({ ...input, id: "other123", name: "other" }));
  assert.equal(at.refusal(commands.keyRotate({ name: "other", id: input.id, digest: input.digest })), "exists");
});

test("a patch changes the fields it names and keeps the rest", () => {
  const at = created();
  at.ok(commands.keyPatch({ name: input.name, profile: null }));
  assert.deepEqual(row(at), { ...row(created()), profile: null });
  at.ok(commands.keyPatch({ name: input.name, metadata: { a: "1" } }));
  assert.deepEqual([row(at).profile, row(at).metadata], [null, { a: "1" }]);
});

test("rotation gives the name a new id and digest, and the old id finds nothing", () => {
  const at = created();
  at.ok(commands.keyRotate({ name: input.name, id: "next1234", digest: "cd".repeat(32) }));
  assert.deepEqual([row(at).id, row(at).digest], ["next1234", "cd".repeat(32)]);
  assert.equal(at.state.get(keyIdRowKey("abcd1234")), undefined);
  assert.equal(readKeyName(at.state.get(keyIdRowKey("next1234")) ?? ""), input.name);
});

test("a deleted key is gone with its id", () => {
  const at = created();
  at.ok(commands.keyDelete({ name: input.name }));
  assert.deepEqual([...at.state.scan("key/"), ...at.state.scan("keyid/")], []);
});

test("an operation on an unknown key is refused", () => {
  const at = bench();
  assert.equal(at.refusal(commands.keyPatch({ name: "x" })), "not_found");
  assert.equal(at.refusal(commands.keyDelete({ name: "x" })), "not_found");
  assert.equal(at.refusal(commands.keyRotate({ name: "x", id: "abcd1234", digest: input.digest })), "not_found");
});

test("malformed fields are refused", () => {
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`m${n}`, ""]));
  const wrong: readonly unknown[] = [
    null,
    [],
    "text",
    {},
    { ...input, id: "a" },
    { ...input, id: "abcd/234" },
    { ...input, name: "" },
    { ...input, name: "x".repeat(129) },
    { ...input, name: "a\nb" },
    { ...input, name: "\ud800" },
    { ...input, name: 7 },
    { ...input, profile: undefined },
    { ...input, metadata: many },
    { ...input, metadata: { a: 1 } },
    { ...input, metadata: { a: "x".repeat(1_025) } },
    { ...input, metadata: [] },
    { ...input, digest: "AB".repeat(32) },
    { ...input, digest: "ab" },
    { ...input, expires_in_ms: 0 },
    { ...input, expires_in_ms: 1.5 },
    { ...input, expires_in_ms: "1h" },
    { ...input, extra: 1 },
  ];
  const at = bench();
  for (const p of wrong) assert.equal(at.refusal({ t: "key.create", v: 1, p }), "invalid", JSON.stringify(p));
});

test("a name that JavaScript reserves is an ordinary name", () => {
  const at = bench();
  const p = JSON.parse(JSON.stringify(input).replace('"team"', '"__proto__"'));
  at.ok({ t: "key.create", v: 1, p });
  assert.deepEqual(Object.entries(row(at).metadata), [["__proto__", "build"]]);
});

test("equal content has equal rows, in whatever order it was written", () => {
  const [one, other] = [bench(), bench()];
  one.ok(commands.keyCreate({ ...input, metadata: { b: "2", a: "1" } }));
  const reversed = Object.fromEntries(Object.entries({ ...input, metadata: { a: "1", b: "2" } }).reverse());
  other.ok({ t: "key.create", v: 1, p: reversed });
  assert.equal(one.state.digest, other.state.digest);
});

test("long names and non-ASCII names have row keys of their own", () => {
  const at = bench();
  const names = ["ä".repeat(128), `${"ä".repeat(127)}b`, "a/b", "a%2Fb", "a b", "日本"];
  names.forEach((name, n) => {
    at.ok(commands.keyCreate({ ...input, name, id: `id${n}0000` }));
  });
  const keys = [...at.state.scan("key/")].map(([key]) => key);
  assert.equal(keys.length, names.length);
  assert.ok(keys.every((key) => /^[\x21-\x7e]{1,512}$/.test(key)));
  assert.deepEqual(
    names.map((name) => row(at, name).name),
    names,
  );
});
