/** Sealed secrets with the real state machine: which nodes can open what, and what never opens. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  createSealedSecrets,
  type OpenedSecret,
  planDeleteSecret,
  planPutAccount,
  planPutCertificate,
  planPutSecret,
  planRewrap,
  type Sealing,
  type SecretPlan,
} from "../../../src/server/secrets/index.ts";
import { DAY, KEK_FILE, kekOf, NOW, openState, withRows } from "./cluster.ts";

const CANARY = "canary-93c1-never-in-the-open";

const value = (sealing: Sealing, name: string): string => {
  const opened = createSealedSecrets(sealing).secret(name);
  return opened.kind === "value" ? opened.value : `problem: ${opened.message}`;
};

const rowOf = (sealing: Sealing, key: string): Readonly<Record<string, unknown>> =>
  JSON.parse((sealing.view.get(key) as string).slice(1)) as Readonly<Record<string, unknown>>;

const namesOf = (plan: SecretPlan): readonly string[] =>
  plan.kind === "planned" ? plan.commands.map(({ t }) => t) : [plan.code];

test("a value is sealed under a data key that is made on demand, and opens on every node with the secret", () => {
  const { run, node } = openState();
  assert.deepEqual(run(planPutSecret("key", CANARY, node(), NOW)), ["ring.add", "ring.activate", "secret.put"]);
  assert.deepEqual(run(planPutSecret("key", `${CANARY}2`, node(), NOW)), ["secret.put"]);
  assert.equal(value(node(), "key"), `${CANARY}2`);
  const sealed = createSealedSecrets(node());
  assert.deepEqual(sealed.status(), { sealed: false, missing: [], damaged: [] });
  assert.equal(sealed.wrappedBy("dk-1"), kekOf("one").id);
  assert.equal(sealed.wrappedBy("dk-9"), "");
  assert.deepEqual(sealed.secret("other"), {
    kind: "problem",
    message: 'there is no sealed secret "other"',
    missing: true,
  });
  assert.deepEqual(run(planDeleteSecret("key", node())), ["secret.delete"]);
  assert.deepEqual(namesOf(planDeleteSecret("key", node())), ["not_found"]);
});

test("any text survives a round trip, and no command contains it", () => {
  const { run, node } = openState();
  fc.assert(
    fc.property(fc.string({ minLength: 8, maxLength: 200, unit: "grapheme" }), (text) => {
      const plan = planPutSecret("key", text, node(), NOW);
      assert.ok(!JSON.stringify(plan).includes(JSON.stringify(text).slice(1, -1)));
      assert.ok(!JSON.stringify(plan).includes(Buffer.from(text).toString("base64").slice(0, 8)));
      run(plan);
      assert.equal(value(node(), "key"), text);
    }),
    { numRuns: 50 },
  );
});

test("of two concurrent plans only one takes effect", () => {
  const { run, node } = openState();
  const [one, other] = [planPutSecret("key", "a", node(), NOW), planPutSecret("key", "b", node(), NOW)];
  run(one);
  assert.deepEqual(run(other), ["ring.add: exists"]);
  const [third, fourth] = [planPutSecret("key", "c", node(), NOW), planPutSecret("key", "d", node(), NOW)];
  run(third);
  assert.deepEqual(run(fourth), ["secret.put: stale"]);
  assert.equal(value(node(), "key"), "c");
});

test("names, empty values and values that are too long are refused", () => {
  const { node } = openState();
  for (const name of ["", ".", "..", "a/b", "a b", "-a", "x".repeat(129), "\u00e9"]) {
    assert.deepEqual(namesOf(planPutSecret(name, "v", node(), NOW)), ["invalid"], name);
  }
  for (const text of ["", "\ud800", "x".repeat(65_537)]) {
    assert.deepEqual(namesOf(planPutSecret("a", text, node(), NOW)), ["invalid"]);
  }
  assert.equal(planPutSecret("x".repeat(128), "x".repeat(65_536), node(), NOW).kind, "planned");
});

test("a value moved to another name, version, data key or cluster does not open, and a changed one does not either", () => {
  const { run, node } = openState();
  run(planPutSecret("key", CANARY, node(), NOW));
  run(planPutSecret("later", "v", node(), NOW + 90 * DAY)); // the first data key is retired
  const row = rowOf(node(), "secret/key");
  const flipped = Buffer.from(row["ct"] as string, "base64");
  flipped[0] = (flipped[0] as number) ^ 1;
  const moved: Readonly<Record<string, object>> = {
    "secret/other": { ...row, name: "other" },
    "secret/key": { ...row, ver: 2 },
    "secret/a": { ...row, name: "key", dk: "dk-2" },
    "secret/b": { ...row, ct: flipped.toString("base64") },
    "secret/c": { ...row, ct: (row["ct"] as string).slice(0, 8) },
  };
  for (const key of Object.keys(moved)) {
    assert.match(
      value(withRows(node(), { [key]: moved[key] as object }), key.slice("secret/".length)),
      /^problem: .*it was changed, or sealed under another name, version or cluster$/,
      key,
    );
  }
  assert.match(value(node({ clusters: ["c2"] }), "key"), /its data key dk-1 was changed or is of another cluster/);
  assert.equal(value(node({ clusters: ["c2", "c1"] }), "key"), CANARY);
});

test("a wrap that was moved to another data key or changed is damage, reported with the data key", () => {
  const { run, node } = openState();
  run(planPutSecret("key", CANARY, node(), NOW));
  run(planPutSecret("later", "v", node(), NOW + 90 * DAY)); // the first data key is retired
  const swapped = withRows(node(), { "ring/dk-1": { ...rowOf(node(), "ring/dk-2"), id: "dk-1", state: "retired" } });
  const sealed = createSealedSecrets(swapped);
  assert.deepEqual(sealed.status(), { sealed: true, missing: [], damaged: ["dk-1"] });
  assert.match(value(swapped, "key"), /dk-1 was changed or is of another cluster/);
  assert.deepEqual(namesOf(planPutSecret("key", "v", swapped, NOW)), ["secret.put"]);
  assert.deepEqual(namesOf(planRewrap(swapped)), ["sealed"]);
  assert.match(
    value(withRows(node(), { "secret/key": { ...rowOf(node(), "secret/key"), dk: "dk-7" } }), "key"),
    /dk-7 is not there/,
  );
});

test("with another secret nothing opens, the missing key is named, and nothing is sealed with fewer keys than the others have", () => {
  const { run, node } = openState();
  run(planPutSecret("key", CANARY, node(), NOW));
  const otherNode = node({ secret: "two" });
  assert.deepEqual(createSealedSecrets(otherNode).status(), { sealed: true, missing: [kekOf("one").id], damaged: [] });
  assert.match(value(otherNode, "key"), new RegExp(`wrapped by ${kekOf("one").id}, which this node does not have`));
  for (const plan of [planPutSecret("new", "v", otherNode, NOW), planRewrap(otherNode)]) {
    assert.deepEqual(namesOf(plan), ["sealed"]);
  }
  assert.equal(createSealedSecrets(otherNode).canOpenRing(node().view.get("ring/dk-1") as string), false);
  assert.equal(createSealedSecrets(node()).canOpenRing("1{}"), false);
  assert.equal(createSealedSecrets(node()).canOpenRing(node().view.get("ring/dk-1") as string), true);
});

test("with a kek_file new data keys need both; earlier wraps stay readable until they are rewrapped", () => {
  const { run, node } = openState();
  run(planPutSecret("old", "a", node(), NOW));
  const both = node({ file: KEK_FILE });
  run(planPutSecret("new", "b", both, NOW + 90 * DAY));
  assert.deepEqual([value(both, "old"), value(both, "new")], ["a", "b"]);
  assert.equal(value(node(), "old"), "a");
  assert.match(value(node(), "new"), /wrapped by b:[0-9a-f]{8}, which this node does not have/);
  assert.deepEqual(createSealedSecrets(node()).status().missing, [both.keks.current.id]);
  assert.match(value(node({ secret: "two", file: KEK_FILE }), "new"), /which this node does not have/);
  assert.match(value(node({ file: new Uint8Array(32).fill(8) }), "new"), /which this node does not have/);

  assert.deepEqual(run(planRewrap(both)), ["ring.rewrap"]);
  assert.match(value(node(), "old"), /which this node does not have/);
  assert.deepEqual([value(both, "old"), value(both, "new")], ["a", "b"]);
  assert.deepEqual(run(planRewrap(both)), []);
});

test("a rewrap may keep the wraps of members that lack the new key", () => {
  const { run, node } = openState();
  run(planPutSecret("key", CANARY, node(), NOW));
  const both = node({ file: KEK_FILE });
  assert.deepEqual(run(planRewrap(both, [kekOf("one").id])), ["ring.rewrap"]);
  assert.deepEqual(run(planRewrap(both, [kekOf("one").id])), []);
  assert.deepEqual([value(node(), "key"), value(both, "key")], [CANARY, CANARY]);
  assert.equal(createSealedSecrets(both).wrappedBy("dk-1"), both.keks.current.id);
  assert.deepEqual(run(planRewrap(both)), ["ring.rewrap"]);
  assert.match(value(node(), "key"), /^problem/);
});

test("after a change of the secret and the cluster id one rewrap makes the old secret unnecessary", () => {
  const { run, node } = openState();
  const before = node({ secret: "one", file: KEK_FILE, clusters: ["c1"] });
  run(planPutSecret("key", CANARY, before, NOW));
  const during = node({ secret: "two", previous: "one", file: KEK_FILE, clusters: ["c2", "c1"] });
  const after = node({ secret: "two", file: KEK_FILE, clusters: ["c2"] });
  assert.equal(value(during, "key"), CANARY);
  assert.match(value(after, "key"), /^problem/);
  assert.deepEqual(run(planRewrap(during)), ["ring.rewrap", "secret.reseal"]);
  assert.equal(value(after, "key"), CANARY);
  assert.deepEqual(run(planRewrap(after)), []);
});

test("a data key is replaced after 90 days or 2^20 seals; what it sealed stays readable", () => {
  const { run, node } = openState();
  run(planPutSecret("a", "1", node(), NOW));
  run(planPutSecret("b", "2", node(), NOW));
  const due = (sealing: Sealing, now: number) => namesOf(planPutSecret("a", "3", sealing, now)).length > 1;
  assert.equal(due(node(), NOW + 90 * DAY - 1), false);
  assert.equal(due(node(), NOW + 90 * DAY), true);
  const versions = (ver: number) => withRows(node(), { "secret/b": { ...rowOf(node(), "secret/b"), ver } });
  assert.equal(due(versions(2 ** 20 - 2), NOW), false);
  assert.equal(due(versions(2 ** 20 - 1), NOW), true);

  assert.deepEqual(run(planPutSecret("a", "3", node(), NOW + 90 * DAY)), ["ring.add", "ring.activate", "secret.put"]);
  assert.deepEqual([value(node(), "a"), value(node(), "b")], ["3", "2"]);
});

test("an unwrapped key is read again when its row changes, so one object lasts for the life of a node", () => {
  const { run, node } = openState();
  run(planPutSecret("key", "1", node(), NOW));
  const sealed = createSealedSecrets(node());
  const read = (): OpenedSecret => sealed.secret("key");
  assert.deepEqual(read(), { kind: "value", value: "1" });
  run(planPutSecret("key", "2", node(), NOW + 90 * DAY));
  assert.deepEqual(read(), { kind: "value", value: "2" });
  run(planRewrap(node({ file: KEK_FILE })));
  assert.match(JSON.stringify(read()), /which this node does not have/);
});

test("no message and no command contains a value or a key", () => {
  const { run, node, state } = openState();
  const texts: string[] = [];
  const keep = (thing: unknown): void => void texts.push(JSON.stringify(thing));
  const put = planPutSecret("key", CANARY, node(), NOW);
  keep(put);
  run(put);
  const row = rowOf(node(), "secret/key");
  for (const sealing of [
    node({ secret: "two" }),
    node({ clusters: ["c2"] }),
    withRows(node(), { "secret/key": { ...row, ver: 2 } }),
    withRows(node(), { "secret/key": { ...row, dk: "dk-3" } }),
  ]) {
    const sealed = createSealedSecrets(sealing);
    keep([sealed.secret("key"), sealed.status(), planPutSecret("k", CANARY, sealing, NOW), planRewrap(sealing)]);
  }
  keep([planPutSecret("no/name", CANARY, node(), NOW), planPutSecret("n", `${CANARY}\ud800`, node(), NOW)]);
  keep([...state.scan("")]);
  const forbidden = [CANARY, Buffer.from(CANARY).toString("base64").slice(0, 16)];
  for (const { key } of node({ file: KEK_FILE }).keks.all) {
    forbidden.push(Buffer.from(key).toString("base64").slice(0, 16), Buffer.from(key).toString("hex").slice(0, 16));
  }
  for (const text of texts) for (const secret of forbidden) assert.ok(!text.includes(secret), text.slice(0, 200));
});

test("certificates and accounts are sealed for their version, open on every node, and are rewrapped for another cluster", () => {
  const { run, node } = openState();
  const put = (expect: number | null, text: string): SecretPlan =>
    planPutCertificate({ id: "set", expect, names: ["a.example"], notAfter: NOW, value: text }, node(), NOW);
  const account = planPutAccount({ id: "account", expect: null, value: CANARY }, node(), NOW);
  assert.ok(!JSON.stringify(account).includes(CANARY));
  assert.deepEqual(run(account), ["ring.add", "ring.activate", "acme.put"]);
  assert.deepEqual(run(put(null, "one")), ["cert.put"]);
  assert.deepEqual(run(put(null, "late")), ["cert.put: stale"]);
  assert.deepEqual(run(put(1, "two")), ["cert.put"]);
  const held = (kind: "cert" | "acme", id: string, sealing = node()) => {
    const opened = createSealedSecrets(sealing).tlsSecret(kind, id);
    return opened.kind === "value" ? opened.value : opened.message;
  };
  assert.deepEqual([held("cert", "set"), held("acme", "account")], ["two", CANARY]);
  assert.equal(held("cert", "account"), 'there is no sealed certificate "account"');
  const after = node({ clusters: ["c2"] });
  assert.deepEqual(run(planRewrap(node({ clusters: ["c2", "c1"] }))), ["ring.rewrap", "cert.put", "acme.put"]);
  assert.deepEqual(run(planRewrap(after)), []);
  assert.deepEqual([held("cert", "set", after), held("acme", "account", after)], ["two", CANARY]);
});
