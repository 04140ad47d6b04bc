import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { extendDialog, mintDialog, revokeDialog, rotateDialog } from "../../../src/console/actions/key-dialogs.ts";
import { metadataOf } from "../../../src/console/actions/key-metadata.ts";
import { actionsOf, bucket, contextOf, key, NOW, profile, valuesOf, wordsOf } from "../views/keys-fixture.ts";
import { openKeyEndpoint } from "./key-endpoint.ts";

const CANARY = "gwk_abcd1234_canary-secret-text";

const USED = key({ last_used_at: new Date(NOW - 2_000).toISOString() });
const CONTEXT = contextOf({
  list_keys: [USED, key({ name: "ci-old", id: "zzzz9999", expires_at: "2026-11-18T00:00:00.000Z", status: "expired" })],
  list_profiles: [profile(), profile({ name: "batch", budget: null, allowed_models: [] })],
  list_budgets: [bucket()],
});

const mint = (changed: Readonly<Record<string, string>>) => {
  const dialog = mintDialog(CONTEXT);
  return {
    why: dialog.blockedReason?.(valuesOf(dialog, changed), CONTEXT),
    request: () => actionsOf(dialog, CONTEXT, changed).map(({ request }) => request),
  };
};

test("minting asks for name, profile, expiry and metadata, and is confirmed by y", () => {
  const dialog = mintDialog(CONTEXT);
  assert.deepEqual(
    dialog.fields.map(({ kind, id, initial }) => [kind, id, initial]),
    [
      ["text", "name", ""],
      ["text", "profile", ""],
      ["choice", "end", "never"],
      ["text", "metadata", ""],
    ],
    "as the keys that are there: without a profile, without an end",
  );
  assert.deepEqual(dialog.confirm, { kind: "yes", button: "mint" });
  const [, profiles] = dialog.fields;
  assert.deepEqual(profiles?.kind === "text" && profiles.suggestions, ["", "standard", "batch"]);
});

test("a mint with all fields sends all fields", () => {
  const { why, request } = mint({ name: "new", profile: "standard", end: "90d", metadata: "team=core, env=prod" });
  assert.equal(why, undefined);
  assert.deepEqual(request(), [
    {
      method: "POST",
      path: "/admin/v1/keys",
      body: { name: "new", profile: "standard", metadata: { team: "core", env: "prod" }, expires_in: "2160h" },
    },
  ]);
});

test("a mint with only a name sends only the name", () => {
  assert.deepEqual(mint({ name: "new" }).request(), [
    { method: "POST", path: "/admin/v1/keys", body: { name: "new" } },
  ]);
});

const PROPOSED: readonly (readonly [
  what: string,
  keys: readonly object[],
  like: string | undefined,
  expected: object,
])[] = [
  ["there is no key", [], undefined, { profile: "", end: "90d" }],
  [
    "most have a profile and a year",
    [
      { name: "a", profile: "batch", expires_at: "2027-08-02T10:00:00.000Z" },
      { name: "b", profile: "batch", expires_at: "2027-08-02T10:00:00.000Z" },
      { name: "c", profile: "standard" },
    ],
    undefined,
    { profile: "batch", end: "1y" },
  ],
  [
    "the cursor is on a key",
    [
      { name: "a", profile: "batch" },
      { name: "b", profile: "batch" },
      { name: "c", profile: "standard", expires_at: "2026-09-01T10:00:00.000Z" },
    ],
    "c",
    { profile: "standard", end: "30d" },
  ],
  ["a profile no longer exists", [{ name: "a", profile: "gone" }], undefined, { profile: "", end: "90d" }],
  [
    "a lifetime is not among the choices",
    [{ name: "a", expires_at: "2026-08-05T10:00:00.000Z" }],
    undefined,
    { profile: "", end: "90d" },
  ],
];

for (const [what, keys, like, expected] of PROPOSED) {
  test(`mint proposes a profile if ${what}`, () => {
    const context = contextOf({
      list_keys: keys.map((it) => key(it)),
      list_profiles: [profile(), profile({ name: "batch", budget: null })],
    });
    const dialog = mintDialog(context, like);
    const values = valuesOf(dialog, {});
    assert.deepEqual({ profile: values["profile"], end: values["end"] }, expected);
  });
}

test("the first key is proposed the only profile, with its budget", () => {
  const context = contextOf({ list_keys: [], list_profiles: [profile()], list_budgets: [bucket()] });
  const dialog = mintDialog(context);
  assert.equal(valuesOf(dialog, {})["profile"], "standard");
  assert.match(
    wordsOf(dialog, context).join("\n"),
    /Budget: shared with others: [\d,]+ cost units in \S+; [\d,]+ left, resets in/,
  );
  const own = contextOf({ list_profiles: [profile()], list_budgets: [bucket({ bucket: "abcd1234", key: "ci" })] });
  assert.match(wordsOf(mintDialog(own), own).join("\n"), /Budget: a bucket of its own: /);
});

const LIFETIMES = [
  ["24h", "24h"],
  ["7d", "168h"],
  ["30d", "720h"],
  ["90d", "2160h"],
  ["1y", "8760h"],
] as const;

test("each expiry choice is a duration that the API accepts", () => {
  for (const [end, expires_in] of LIFETIMES) {
    assert.deepEqual(mint({ name: "new", end }).request()[0]?.body, { name: "new", expires_in });
  }
});

test("the mint dialog says what is wrong with an input", () => {
  assert.equal(mint({}).why, "a key needs a name");
  assert.match(mint({ name: "-x" }).why ?? "", /^a name has 1 to 128 letters, digits/);
  assert.match(mint({ name: `a${"b".repeat(128)}` }).why ?? "", /1 to 128/);
  assert.equal(mint({ name: "ci-main" }).why, "there is a key named ci-main already");
  assert.equal(mint({ name: "new", profile: "nope" }).why, "there is no profile nope");
  assert.equal(mint({ name: "new", metadata: "team" }).why, "metadata is written as team=core,env=prod");
});

test("any profile is accepted while the profiles are not known", () => {
  const context = contextOf({ list_keys: [] });
  const dialog = mintDialog(context);
  assert.equal(dialog.blockedReason?.(valuesOf(dialog, { name: "new", profile: "any" }), context), undefined);
});

test("the mint dialog describes the key as it is typed", () => {
  assert.deepEqual(
    wordsOf(mintDialog(CONTEXT), CONTEXT, { name: "new", profile: "standard", end: "24h" }).slice(0, 2),
    [
      "Effect: new is accepted on all nodes at once and expires at 2026-11-21 14:02Z, in 24h 00m",
      "Profile: standard: acme-*, pool-*; budget day-5m; 2 access rules of its own",
    ],
  );
  assert.match(wordsOf(mintDialog(CONTEXT), CONTEXT).join("\n"), /a key is accepted .* never expires\nProfile: none/);
});

test("the text of a minted key is shown as the secret and in no message", async (t) => {
  const { client, received } = await openKeyEndpoint(t, [{ ...key({ name: "new" }), key: CANARY }]);
  const [action] = actionsOf(mintDialog(CONTEXT), CONTEXT, { name: "new" });
  const outcome = await action?.run(client, { idempotencyKey: "once" });
  assert.deepEqual(outcome, { message: "new minted; its text is shown this once", secret: CANARY });
  assert.deepEqual(received, [
    { method: "POST", url: "/admin/v1/keys", idempotencyKey: "once", body: { name: "new" } },
  ]);
});

test("a repeated mint without a text says how to get one", async (t) => {
  const { client } = await openKeyEndpoint(t, [key({ name: "new" })]);
  const [action] = actionsOf(mintDialog(CONTEXT), CONTEXT, { name: "new" });
  const outcome = await action?.run(client, { idempotencyKey: "once" });
  assert.equal(outcome?.secret, undefined);
  assert.match(outcome?.message ?? "", /^new was minted by an earlier try .* rotate it for a new one$/);
});

test("one key is revoked by typing its name", () => {
  const dialog = revokeDialog(["ci-main"]);
  assert.equal(dialog.isDangerous, true);
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "ci-main");
  assert.deepEqual(wordsOf(dialog, CONTEXT), [
    "Effect: ci-main stops working on all nodes now. Last used within the last minute. Cannot be undone",
  ]);
  assert.deepEqual(
    actionsOf(dialog, CONTEXT).map(({ request }) => request),
    [{ method: "DELETE", path: "/admin/v1/keys/ci-main" }],
  );
});

test("revoking a key without known use does not claim that it was unused", () => {
  assert.deepEqual(wordsOf(revokeDialog(["ci-old"]), CONTEXT), [
    "Effect: ci-old stops working on all nodes now. This node knows of no use of it. Cannot be undone",
  ]);
});

test("several keys are revoked by typing their number, and the first eight are named", () => {
  const names = Array.from({ length: 11 }, (_, at) => `k${at}`);
  const context = contextOf({ list_keys: names.map((name) => key({ name })) });
  const dialog = revokeDialog(names);
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "11");
  assert.deepEqual(wordsOf(dialog, context), [
    "Effect: 11 keys stop working on all nodes now. Cannot be undone",
    "Keys: k0, k1, k2, k3, k4, k5, k6, k7 and 3 more",
    "In use: 0 of them used within the hour, as far as this node knows",
  ]);
  assert.equal(actionsOf(dialog, context).length, 11);
});

test("a key that was revoked meanwhile cannot be revoked again", () => {
  const context = contextOf({ list_keys: [] });
  for (const dialog of [revokeDialog(["ci-main"]), rotateDialog("ci-main"), extendDialog("ci-main")]) {
    assert.equal(dialog.blockedReason?.(valuesOf(dialog), context), "ci-main no longer exists");
    assert.equal(dialog.blockedReason?.(valuesOf(dialog), CONTEXT), undefined);
  }
});

test("a revoked key is reported by name", async (t) => {
  const { client, received } = await openKeyEndpoint(t, [undefined]);
  const [action] = actionsOf(revokeDialog(["ci-main"]), CONTEXT);
  assert.deepEqual(await action?.run(client, { idempotencyKey: "k" }), { message: "ci-main revoked" });
  assert.deepEqual(
    received.map(({ method, url }) => `${method} ${url}`),
    ["DELETE /admin/v1/keys/ci-main"],
  );
});

test("rotation is confirmed by name, warns about callers, and shows the new text once", async (t) => {
  const { client, received } = await openKeyEndpoint(t, [{ ...key(), key: CANARY }, key()]);
  const dialog = rotateDialog("ci-main");
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "ci-main");
  assert.equal(
    wordsOf(dialog, CONTEXT)[0],
    "Effect: the old text is refused at once on all nodes: callers fail until they have the new one",
  );
  const [action] = actionsOf(dialog, CONTEXT);
  assert.deepEqual(await action?.run(client, { idempotencyKey: "a" }), {
    message: "ci-main rotated; its text is shown this once",
    secret: CANARY,
  });
  const repeated = await action?.run(client, { idempotencyKey: "a" });
  assert.equal(repeated?.secret, undefined);
  assert.match(repeated?.message ?? "", /cannot be shown again/);
  assert.equal(received[0]?.url, "/admin/v1/keys/ci-main/rotate");
});

test("a new expiry is shown beside the current one", () => {
  const dialog = extendDialog("ci-main");
  assert.deepEqual(wordsOf(dialog, CONTEXT, { end: "24h" }), [
    "Now: never expires",
    "Then: it expires at 2026-11-21 14:02Z, in 24h 00m",
    "Effect: earlier than its present expiry",
  ]);
  assert.deepEqual(wordsOf(extendDialog("ci-old"), CONTEXT, { end: "7d" }), [
    "Now: expired at 2026-11-18 00:00Z",
    "Then: it expires at 2026-11-27 14:02Z, in 7d",
    "Effect: it has expired, and would be accepted again",
  ]);
});

test("a new expiry is sent as a patch, and `never` removes it", async (t) => {
  const requests = ["30d", "never"].map((end) => actionsOf(extendDialog("ci-main"), CONTEXT, { end })[0]?.request);
  assert.deepEqual(requests, [
    { method: "PATCH", path: "/admin/v1/keys/ci-main", body: { expires_in: "720h" } },
    { method: "PATCH", path: "/admin/v1/keys/ci-main", body: { expires_in: null } },
  ]);
  const { client } = await openKeyEndpoint(t, [key({ expires_at: "2026-12-20T14:02:07.000Z" }), key()]);
  const [action] = actionsOf(extendDialog("ci-main"), CONTEXT);
  assert.deepEqual(await action?.run(client, { idempotencyKey: "a" }), {
    message: "ci-main expires at 2026-12-20T14:02:07.000Z",
  });
  assert.deepEqual(await action?.run(client, { idempotencyKey: "b" }), { message: "ci-main never expires" });
});

test("metadata is parsed as typed", () => {
  assert.deepEqual(metadataOf(""), { kind: "metadata", metadata: {} });
  assert.deepEqual(metadataOf(" a = b=c , d="), { kind: "metadata", metadata: { a: "b=c", d: "" } });
  assert.deepEqual(metadataOf("a=1,a=2"), { kind: "invalid", problem: "metadata names a twice" });
  for (const text of ["a", "=b", "a=1,", ",", "a=1,,b=2"]) {
    assert.deepEqual(metadataOf(text), { kind: "invalid", problem: "metadata is written as team=core,env=prod" });
  }
  const many = Array.from({ length: 65 }, (_, at) => `k${at}=v`).join(",");
  assert.deepEqual(metadataOf(many), { kind: "invalid", problem: "a key has at most 64 metadata entries" });
});

test("any metadata without commas survives a round trip", () => {
  const word = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,10}$/);
  fc.assert(
    fc.property(fc.dictionary(word, word, { maxKeys: 10, noNullPrototype: true }), (metadata) => {
      const text = Object.entries(metadata)
        .map(([name, value]) => `${name}=${value}`)
        .join(",");
      assert.deepEqual(metadataOf(text), { kind: "metadata", metadata });
    }),
  );
});

test("controls in names never reach a line", () => {
  const name = "a\u001b[31mb";
  const context = contextOf({ list_keys: [key({ name })] });
  for (const dialog of [revokeDialog([name]), rotateDialog(name), extendDialog(name)]) {
    assert.doesNotMatch([dialog.title, ...wordsOf(dialog, context)].join("\n"), /\u001b/);
  }
});
