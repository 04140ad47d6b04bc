/** Callers' keys among the replicated rows: current at once, and the same object while unchanged. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createView } from "../../../../src/server/cluster/state-view.ts";
import { commands, type NamedCommand, readKey } from "../../../../src/server/core/state/index.ts";
import { openKeyStore } from "../../../../src/server/node/governance/virtual-keys.ts";
import { bench } from "../../core/state/harness.ts";

const DIGEST = "ab".repeat(32);
const create = (name: string, id: string, profile: string | null = null) =>
  commands.keyCreate({ id, name, profile, metadata: { team: "a" }, digest: DIGEST, expires_in_ms: null });

function open(generation?: number) {
  const at = bench();
  const { view, follow, beginReplace, add, endReplace } = createView((error) => assert.fail(String(error)));
  const store = openKeyStore(view, generation);
  return {
    store,
    view,
    apply(command: NamedCommand) {
      at.ok(command);
    },
    run(command: NamedCommand) {
      const { mutations } = at.apply(command);
      follow(mutations, at.state.applied.index);
    },
    /** Acts like an installed snapshot or a restore. */
    reload() {
      beginReplace();
      add([...at.state.scan("")]);
      endReplace(at.state.applied.index);
    },
  };
}

test("a key is found by its id with its minted fields, and another id finds nothing", () => {
  const { store, run } = open();
  assert.equal(store.findById("aaaaaaaa"), undefined);
  run(create("ci", "aaaaaaaa", "chat"));
  assert.deepEqual(store.findById("aaaaaaaa"), {
    id: "aaaaaaaa",
    name: "ci",
    profile: "chat",
    metadata: { team: "a" },
    digest: DIGEST,
    expires_at: null,
  });
  for (const id of ["aaaaaaab", "ci", "", "../key/ci", "a".repeat(10_000)]) assert.equal(store.findById(id), undefined);
});

test("the object stays the same and immutable while its key is unchanged", () => {
  const { store, run, reload } = open();
  run(create("ci", "aaaaaaaa"));
  const key = store.findById("aaaaaaaa");
  assert.ok(key && Object.isFrozen(key) && Object.isFrozen(key.metadata));
  run(create("other", "bbbbbbbb"));
  run(commands.keyDelete({ name: "other" }));
  assert.equal(store.findById("aaaaaaaa"), key);
  reload();
  assert.equal(store.findById("aaaaaaaa"), key, "after a snapshot that has it as it was");
  run(commands.keyPatch({ name: "ci", profile: "batch" }));
  const changed = store.findById("aaaaaaaa");
  assert.notEqual(changed, key);
  assert.equal(changed?.profile, "batch");
});

test("a deleted or rotated key is no longer found in the same turn as the view's change", () => {
  const { store, run } = open();
  run(create("one", "aaaaaaaa"));
  run(create("two", "bbbbbbbb"));
  assert.ok(store.findById("aaaaaaaa") && store.findById("bbbbbbbb"));
  run(commands.keyDelete({ name: "one" }));
  run(commands.keyRotate({ name: "two", id: "cccccccc", digest: DIGEST }));
  assert.deepEqual(
    ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map((id) => store.findById(id)?.name),
    [undefined, undefined, "two"],
  );
});

test("a watcher of keys sees a change through the store, in any order of watchers", () => {
  const { store, run, view } = open();
  run(create("ci", "aaaaaaaa", "chat"));
  store.findById("aaaaaaaa");
  const seen: (string | null | undefined)[] = [];
  view.watch("key/", () => seen.push(store.findById("aaaaaaaa")?.profile));
  run(commands.keyPatch({ name: "ci", profile: "batch" }));
  run(commands.keyDelete({ name: "ci" }));
  assert.deepEqual(seen, ["batch", undefined]);
});

test("keys missing in a snapshot are gone", () => {
  const { store, run, apply, reload } = open();
  run(create("ci", "aaaaaaaa"));
  assert.ok(store.findById("aaaaaaaa"));
  apply(commands.keyDelete({ name: "ci" }));
  assert.ok(store.findById("aaaaaaaa"), "this node has not heard of it");
  reload();
  assert.equal(store.findById("aaaaaaaa"), undefined);
});

test("keys in use stay parsed, and a bounded number of others", () => {
  const { store, run } = open(4);
  const ids = Array.from({ length: 20 }, (_, at) => `key${String(at).padStart(5, "0")}`);
  for (const id of ids) run(create(id, id));
  const [used = ""] = ids;
  const key = store.findById(used);
  const first = ids.map((id) => {
    assert.equal(store.findById(used), key);
    return store.findById(id);
  });
  const isKept = ids.map((id, at) => store.findById(id) === first[at]);
  assert.ok(isKept.filter(Boolean).length <= 8, "two generations of four");
  assert.deepEqual(
    ids.map((id) => store.findById(id)),
    first,
    "one that was dropped is parsed anew",
  );
});

const id = fc.constantFrom("idaaaa", "idbbbb", "idcccc", "iddddd");
const name = fc.constantFrom("x", "y", "z");
const step = fc.oneof(
  fc.tuple(name, id).map(([of, to]) => create(of, to)),
  fc.tuple(name, fc.option(name)).map(([of, profile]) => commands.keyPatch({ name: of, profile })),
  name.map((of) => commands.keyDelete({ name: of })),
  fc.tuple(name, id).map(([of, to]) => commands.keyRotate({ name: of, id: to, digest: DIGEST })),
  fc.constant("reload" as const),
  id.map((it) => ({ ask: it })),
);

test("after any changes a lookup gives what the rows say", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (steps, generation) => {
      const { store, view, run, reload } = open(generation);
      const look = (of: string): void => {
        const row = Array.from(view.scan("key/"), ([, value]) => readKey(value)).find((key) => key.id === of);
        const { created_at: _, ...expected } = row ?? { created_at: 0 };
        assert.deepEqual(store.findById(of), row === undefined ? undefined : expected);
      };
      for (const it of steps) {
        if (it === "reload") reload();
        else if ("ask" in it) look(it.ask);
        else run(it);
      }
      for (const of of ["idaaaa", "idbbbb", "idcccc", "iddddd"]) look(of);
    }),
  );
});
