import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acmeRowKey,
  CERTIFICATES_LEVEL,
  certificateRowKey,
  commands,
  readAcme,
  readCertificate,
  readRing,
  readSecret,
  ringRowKey,
  secretRowKey,
} from "../../../../src/server/core/state/index.ts";
import { type Bench, bench, START } from "./harness.ts";

const wraps = [{ kek: "s:1f0a2b3c", n: "A".repeat(16), ct: "A".repeat(64) }];
const ring = (id: string) => commands.ringAdd({ id, alg: "A256GCM", wraps, created: START });
const sealed = (dk: string, ct = "AAAA") => ({ dk, n: "B".repeat(16), ct });
const put = (expect: number | null, dk = "dk-1", ct = "AAAA") =>
  commands.secretPut({ name: "api-key", expect, sealed: sealed(dk, ct) });

function withRing(): Bench {
  const at = bench();
  at.ok(commands.featSet({ level: CERTIFICATES_LEVEL }));
  at.ok(ring("dk-1"));
  at.ok(ring("dk-2"));
  return at;
}
const stateOf = ({ state }: Bench, id: string) => readRing(state.get(ringRowKey(id)) ?? "").state;
const secret = ({ state }: Bench) => readSecret(state.get(secretRowKey("api-key")) ?? "");

test("the first data key is active at once, later ones when activated", () => {
  const at = withRing();
  assert.deepEqual([stateOf(at, "dk-1"), stateOf(at, "dk-2")], ["active", "retired"]);
  at.ok(commands.ringActivate({ id: "dk-2" }));
  assert.deepEqual([stateOf(at, "dk-1"), stateOf(at, "dk-2")], ["retired", "active"]);
  assert.equal(at.refusal(ring("dk-2")), "exists");
  assert.equal(at.refusal(commands.ringActivate({ id: "dk-3" })), "not_found");
});

test("a secret's version counts up from one, and each write names the version it replaces", () => {
  const at = withRing();
  assert.equal(at.refusal(put(1)), "stale");
  assert.deepEqual(at.ok(put(null)), { version: 1 });
  assert.equal(at.refusal(put(null)), "stale");
  assert.deepEqual(at.ok(put(1, "dk-1", "BBBB")), { version: 2 });
  const by = { iss: "local", sub: "unix:0" };
  assert.deepEqual(secret(at), { name: "api-key", ver: 2, ...sealed("dk-1", "BBBB"), by, at: START });
  at.ok(commands.secretDelete({ name: "api-key" }));
  assert.equal(at.refusal(commands.secretDelete({ name: "api-key" })), "not_found");
});

test("only the active data key seals", () => {
  const at = withRing();
  assert.equal(at.refusal(put(null, "dk-2")), "retired_data_key");
  assert.equal(at.refusal(put(null, "dk-3")), "unknown_data_key");
});

test("a value is resealed only while it is the version that was opened", () => {
  const at = withRing();
  at.ok(put(null));
  at.ok(commands.ringActivate({ id: "dk-2" }));
  const reseal = (ver: number, dk = "dk-2", name = "api-key") =>
    commands.secretReseal({ name, ver, sealed: sealed(dk, "CCCC") });
  assert.equal(at.refusal(reseal(2)), "stale");
  assert.equal(at.refusal(reseal(1, "dk-1")), "retired_data_key");
  assert.equal(at.refusal(reseal(1, "dk-2", "other")), "not_found");
  assert.deepEqual(at.ok(reseal(1)), { version: 1 });
  assert.deepEqual([secret(at).ver, secret(at).dk, secret(at).ct], [1, "dk-2", "CCCC"]);
});

test("a data key is dropped once nothing is sealed with it", () => {
  const at = withRing();
  at.ok(put(null));
  at.ok(commands.certPut({ id: "c", names: ["a.example"], not_after: 1, expect: null, sealed: sealed("dk-1") }));
  at.ok(commands.acmePut({ id: "a", expect: null, sealed: sealed("dk-1") }));
  assert.equal(at.refusal(commands.ringDrop({ id: "dk-1" })), "in_use");
  at.ok(commands.ringActivate({ id: "dk-2" }));
  const drop = () => at.refusal(commands.ringDrop({ id: "dk-1" }));
  assert.equal(drop(), "in_use");
  at.ok(commands.secretDelete({ name: "api-key" }));
  assert.equal(drop(), "in_use");
  at.ok(commands.certDelete({ id: "c", ver: 1 }));
  assert.equal(drop(), "in_use");
  at.ok(commands.acmeDelete({ id: "a", ver: 1 }));
  at.ok(commands.ringDrop({ id: "dk-1" }));
  assert.equal(drop(), "not_found");
});

test("a data key may be rewrapped", () => {
  const at = withRing();
  const next = [...wraps, { kek: "f:deadbeef", n: "C".repeat(16), ct: "AAAA" }];
  at.ok(commands.ringRewrap({ id: "dk-1", wraps: next }));
  assert.deepEqual(readRing(at.state.get(ringRowKey("dk-1")) ?? "").wraps, next);
  assert.equal(at.refusal(commands.ringRewrap({ id: "dk-9", wraps })), "not_found");
  assert.equal(at.refusal(commands.ringRewrap({ id: "dk-1", wraps: [] })), "invalid");
});

test("certificates and accounts are stored with their public details", () => {
  const at = withRing();
  const certificate = { id: "www", names: ["www.example"], not_after: START + 1, sealed: sealed("dk-1") };
  const first = { ...certificate, not_after: null };
  const kept = () => readCertificate(at.state.get(certificateRowKey("www")) ?? "");
  at.ok(commands.certPut({ ...first, expect: null }));
  assert.deepEqual(kept(), { ...first, ver: 1, at: START });
  assert.deepEqual(at.ok(commands.certPut({ ...certificate, expect: 1 })), { version: 2 });
  assert.deepEqual(kept(), { ...certificate, ver: 2, at: START });
  for (const expect of [null, 1, 3]) assert.equal(at.refusal(commands.certPut({ ...certificate, expect })), "stale");
  const account = { id: "https://ca.example ops@a.example", sealed: sealed("dk-1") };
  at.ok(commands.acmePut({ ...account, expect: null }));
  assert.deepEqual(readAcme(at.state.get(acmeRowKey(account.id)) ?? ""), { ...account, ver: 1, at: START });
  assert.equal(at.refusal(commands.acmePut({ ...account, expect: null })), "stale");
  const under = (dk: string) => ({ expect: 2, sealed: sealed(dk) });
  assert.equal(at.refusal(commands.certPut({ ...certificate, ...under("dk-2") })), "retired_data_key");
  assert.equal(at.refusal(commands.acmePut({ ...account, expect: 1, sealed: sealed("dk-3") })), "unknown_data_key");
  assert.equal(at.refusal(commands.certDelete({ id: "www", ver: 1 })), "stale");
  assert.equal(at.refusal(commands.certDelete({ id: "x", ver: 1 })), "not_found");
  assert.equal(at.refusal(commands.acmeDelete({ id: account.id, ver: 2 })), "stale");
  assert.equal(at.refusal(commands.acmeDelete({ id: "x", ver: 1 })), "not_found");
});

test("malformed fields are refused", () => {
  const at = withRing();
  for (const [t, p] of [
    ["secret.put", { name: "a b", expect: null, sealed: sealed("dk-1") }],
    ["secret.put", { name: "a", expect: 0, sealed: sealed("dk-1") }],
    ["secret.put", { name: "a", expect: null, sealed: { ...sealed("dk-1"), n: "A" } }],
    ["secret.put", { name: "a", expect: null, sealed: { ...sealed("dk-1"), ct: "A" } }],
    ["secret.put", { name: "a", expect: null, sealed: { ...sealed("dk-1"), value: "plain" } }],
    ["secret.reseal", { name: "a", ver: "1", sealed: sealed("dk-1") }],
    ["secret.delete", {}],
    ["ring.add", { id: "dk-0", alg: "A256GCM", wraps, created: 1 }],
    ["ring.add", { id: "dk-3", alg: "none", wraps, created: 1 }],
    ["ring.add", { id: "dk-3", alg: "A256GCM", wraps: [{ kek: "x" }], created: 1 }],
    ["ring.activate", { id: 1 }],
    ["ring.drop", { id: "" }],
    ["cert.put", { id: "c", names: "a", not_after: 1, expect: null, sealed: sealed("dk-1") }],
    ["cert.delete", null],
    ["acme.put", { id: "", expect: null, sealed: sealed("dk-1") }],
    ["acme.delete", { id: null }],
  ] as const) {
    assert.equal(at.refusal({ t, v: 1, p }), "invalid", `${t} ${JSON.stringify(p)}`);
  }
});
