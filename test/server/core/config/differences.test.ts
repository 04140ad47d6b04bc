import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Deployment, differencesOf } from "../../../../src/server/core/config/index.ts";
import { documentOf } from "./deployment/harness.ts";
import { CANARY } from "./samples.ts";

const provider = (name: string, more: object = {}) => ({ name, preset: "openai", ...more });

/** Sections of a document; the compared parts need not be complete. */
const sections = (values: object): Deployment => documentOf(values as Partial<Deployment>);

test("objects are compared by name: added, removed, and changed with their fields", () => {
  const before = sections({
    providers: [provider("main", { pool: { a: 1, subsets: [1] }, retry: { on: ["5xx"] } }), provider("old")],
    budgets: [{ name: "b", limit: 1 }],
  });
  const after = sections({
    providers: [provider("main", { pool: { a: 1, subsets: [2] } }), provider("new")],
    budgets: [{ name: "b", limit: 1 }],
    public_url: "https://g.example",
    max_body_bytes: 5,
  });
  assert.deepEqual(differencesOf(before, after), [
    { kind: "changed", path: "max_body_bytes" },
    { kind: "changed", path: "providers.main", fields: ["pool.subsets", "retry"] },
    { kind: "removed", path: "providers.old" },
    { kind: "added", path: "providers.new" },
    { kind: "added", path: "public_url" },
  ]);
});

test("sections with lists are compared by their entries and by their own fields", () => {
  const before = sections({
    guardrails: { detectors: [{ type: "pii", a: 1 }], rules: [{ name: "r" }], stream: { policy: "window", x: 1 } },
    models: { models: [{ name: "m" }] },
  });
  const after = sections({
    guardrails: { detectors: [{ type: "pii", a: 2 }], rules: [], stream: { policy: "buffer", x: 1 } },
    auth: { virtual_keys: true, issuers: [{ issuer: "corp" }, { issuer: "corp", audience: "b" }] },
  });
  assert.deepEqual(differencesOf(before, after), [
    { kind: "changed", path: "guardrails", fields: ["stream.policy"] },
    { kind: "changed", path: "guardrails.detectors.pii", fields: ["a"] },
    { kind: "removed", path: "guardrails.rules.r" },
    { kind: "removed", path: "models" },
    { kind: "removed", path: "models.models.m" },
    { kind: "added", path: "auth" },
    { kind: "added", path: "auth.issuers.corp" },
    { kind: "added", path: 'auth.issuers["corp#2"]' },
  ]);
});

test("equivalent documents have no difference: key order, other duration units, an edition, an empty list", () => {
  const one = sections({
    version: 1,
    providers: [{ name: "a", pool: { x: 1, y: 2 }, first_byte_timeout: "1m" }],
    mcp: [],
  });
  const other = sections({ version: 2, providers: [{ pool: { y: 2, x: 1 }, first_byte_timeout: "60s", name: "a" }] });
  assert.deepEqual(differencesOf(one, other), []);
  assert.deepEqual(differencesOf(undefined, undefined), []);
  assert.deepEqual(differencesOf(undefined, sections({ providers: [provider("a")] })).at(-1), {
    kind: "added",
    path: "on_fidelity_loss",
  });
});

test("the order of a list matters only where the first match wins", () => {
  const [a, b] = [provider("a"), provider("b")];
  assert.deepEqual(differencesOf(sections({ providers: [a, b] }), sections({ providers: [b, provider("c"), a] })), [
    { kind: "changed", path: "providers", fields: ["order"] },
    { kind: "added", path: "providers.c" },
  ]);
  const budgets = [{ name: "a" }, { name: "b" }];
  assert.deepEqual(differencesOf(sections({ budgets }), sections({ budgets: budgets.toReversed() })), []);
});

test("a changed credential is reported by its path alone", () => {
  const found = differencesOf(
    sections({ providers: [provider("a", { api_key: CANARY })], credentials: [{ name: "c", api_key: CANARY }] }),
    sections({
      providers: [provider("a", { api_key: `${CANARY}2` })],
      credentials: [{ name: "c", oauth: { s: CANARY } }],
    }),
  );
  assert.deepEqual(found, [
    { kind: "changed", path: "credentials.c", fields: ["api_key", "oauth"] },
    { kind: "changed", path: "providers.a", fields: ["api_key"] },
  ]);
});

test("a document has no difference to itself, and what one direction adds the other removes", () => {
  const json = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 2 }));
  const document = fc
    .uniqueArray(fc.tuple(fc.constantFrom("p", "q", "r.s"), json), { selector: ([name]) => name })
    .map((entries) => sections({ providers: entries.map(([name, more]) => ({ ...more, name })) }));
  fc.assert(
    fc.property(document, document, (one, other) => {
      assert.deepEqual(differencesOf(one, structuredClone(one)), []);
      const paths = (kind: string, from: Deployment, to: Deployment) =>
        differencesOf(from, to)
          .flatMap((it) => (it.kind === kind ? [it.path] : []))
          .toSorted();
      assert.deepEqual(paths("added", one, other), paths("removed", other, one));
      assert.deepEqual(paths("changed", one, other), paths("changed", other, one));
    }),
  );
});
