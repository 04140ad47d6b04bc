import assert from "node:assert/strict";
import test from "node:test";
import { profilesView } from "../../../src/console/views/profiles.ts";
import {
  actionsOf,
  bodyOf,
  bucket,
  cellAt,
  contextOf,
  dialogOf,
  profile,
  startOf,
  suspension,
  tableOfView,
  textsOf,
  whyOf,
} from "./keys-fixture.ts";

const CONTEXT = contextOf({
  list_profiles: [
    profile(),
    profile({
      name: "open",
      budget: null,
      allowed_models: [],
      require_caps: [],
      access_rules: 0,
      detectors: [],
      keys: 0,
    }),
  ],
  list_budgets: [
    bucket(),
    ...Array.from({ length: 6 }, (_, at) =>
      bucket({ bucket: `key0000${at}`, key: `k${at}`, status: at < 5 ? "low" : "ok" }),
    ),
  ],
  list_suspensions: [suspension({ kind: "profile", name: "open" }), suspension({ kind: "key", name: "standard" })],
});
const TABLE = tableOfView(profilesView, CONTEXT);

test("a profile row has its permissions and the number of keys that use it", () => {
  const row = (at: number) => TABLE.columns.map(({ id }) => cellAt(TABLE, at, id));
  assert.deepEqual(row(0), ["standard", "active", "day-5m", "acme-*, pool-*", "tools", "2", "all", "7"]);
  assert.deepEqual(row(1), ["open", "SUSPENDED", "-", "all", "-", "0", "none", "0"]);
  assert.deepEqual([TABLE.isBad(0), TABLE.isBad(1)], [false, true]);
});

test("Enter goes to the keys of exactly that profile", () => {
  assert.deepEqual(bodyOf(profilesView).open?.("standard", CONTEXT), {
    kind: "go",
    place: { view: "keys" },
    filter: "profile=standard,",
  });
});

test("a profile is suspended and lifted by its kind", () => {
  const paths = (verb: "suspend" | "lift", name: string) =>
    actionsOf(dialogOf(startOf(profilesView, verb, [name], CONTEXT)), CONTEXT).map(({ request }) => request.path);
  assert.deepEqual(paths("suspend", "standard"), ["/admin/v1/suspensions/profile:standard"]);
  assert.deepEqual(paths("lift", "open"), ["/admin/v1/suspensions/profile:open"]);
  assert.equal(whyOf(profilesView, "lift", ["standard"], CONTEXT), "standard is not suspended");
  assert.match(whyOf(profilesView, "suspend", ["open"], CONTEXT) ?? "", /suspended already/);
});

test("f goes to the budget, if there is one", () => {
  assert.deepEqual(startOf(profilesView, "follow", ["standard"], CONTEXT), {
    kind: "go",
    place: { view: "budgets" },
    filter: "budget=day-5m,",
  });
  assert.equal(whyOf(profilesView, "follow", ["standard"], CONTEXT), undefined);
  assert.equal(whyOf(profilesView, "follow", ["open"], CONTEXT), "open has no budget");
  assert.equal(whyOf(profilesView, "follow", ["gone"], CONTEXT), "gone no longer exists");
});

test("the pane lists the shared bucket, then the fullest, and counts the others", () => {
  const lines = textsOf(bodyOf(profilesView).pane?.("standard", CONTEXT) ?? []);
  assert.equal(lines.length, 7);
  assert.match(lines[2] ?? "", /^budget {4}day-5m \(shared\)/);
  assert.match(lines[3] ?? "", /^budget {4}day-5m \(key k0\).* hot$/);
  assert.equal(lines[6]?.trim(), "3 more buckets; f shows them");
  const open = textsOf(bodyOf(profilesView).pane?.("open", CONTEXT) ?? []);
  assert.match(open[0] ?? "", /models all that are routed/);
  assert.match(open[2] ?? "", /SUSPENDED "leaked" by alice@example/);
});

test("without profiles the view says where they are configured", () => {
  assert.match(bodyOf(profilesView).empty(CONTEXT).next, /deployment document \(`profiles:`\)/);
});
