import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";
import fc from "fast-check";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import {
  extendDialog,
  liftDialog,
  liftSuspensionsDialog,
  newSuspensionDialog,
  suspendDialog,
  whyAllSuspended,
  whyNotSuspended,
} from "../../../src/console/actions/suspension-dialogs.ts";
import { reroutingOf } from "../../../src/console/actions/suspension-routes.ts";
import {
  linesOf as allLinesOf,
  answersOf,
  backend,
  contextOf,
  dataOf,
  INCIDENT,
  MEMBERS,
  member,
  model,
  requestsOf,
  suspension,
  tonesOf,
} from "../views/traffic-fixtures.ts";

const incident = contextOf(INCIDENT);
/** Drops the lines common to all: the author of the reason, and the advice before a lift. */
const linesOf: typeof allLinesOf = (...of) => allLinesOf(...of).filter((text) => !/^(Callers|First): /.test(text));

test("the suspend dialog says that callers read the reason, and the lift dialog how to test the upstream first", () => {
  assert.ok(
    allLinesOf(suspendDialog(provider("acme-chat"), incident), incident).includes(
      "Callers: read the reason in the error they get",
    ),
  );
  assert.match(
    allLinesOf(liftDialog(provider("beta-labs"), incident), incident).join("\n"),
    /^First: check that it answers: `gateway check/m,
  );
});
const provider = (...names: readonly string[]) => ({ kind: "provider", names }) as const;

test("the suspend dialog shows what is skipped, what takes over and which models have no provider left", () => {
  const dialog = suspendDialog(provider("acme-chat"), incident);
  assert.equal(dialog.title, "Suspend provider:acme-chat");
  assert.deepEqual(linesOf(dialog, incident), [
    "Effect: new requests skip acme-chat on all 3 nodes; 14 in flight finish",
    "Then: its models go to: acme-alt",
    ": models left with no provider: 1 (acme-*)",
  ]);
  assert.deepEqual(tonesOf(dialog, incident), ["plain", "plain", "fail", "warn"]);
  assert.equal(dialog.isDangerous, true);
});

test("the suspend dialog is not dangerous if every model keeps a provider", () => {
  const calm = contextOf({ ...INCIDENT, list_suspensions: [] });
  const dialog = suspendDialog(provider("acme-chat"), calm);
  assert.deepEqual(linesOf(dialog, calm).slice(1), [
    "Then: its models go to: beta-labs",
    ": models left with no provider: 0",
  ]);
  assert.deepEqual(tonesOf(dialog, calm), ["plain", "plain", "plain", "warn"]);
  assert.equal(dialog.isDangerous, false);
});

test("the suspend dialog names five of the models left with no provider and counts the rest", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g"];
  const context = contextOf({ ...INCIDENT, list_models: names.map((name) => model(name, "acme-chat")) });
  assert.deepEqual(linesOf(suspendDialog(provider("acme-chat"), context), context).slice(1), [
    "Then: its models go to: no provider",
    ": models left with no provider: 7 (a, b, c, d, e and 2 more)",
  ]);
});

test("the suspend dialog counts a model that loses its last failover", () => {
  const context = contextOf({ ...INCIDENT, list_models: [model("m", "beta-labs", { failover: ["acme-alt"] })] });
  assert.deepEqual(linesOf(suspendDialog(provider("acme-alt"), context), context).slice(1), [
    "Then: no model is routed to it first",
    ": models left with no provider: 1 (m)",
  ]);
});

test("the suspend dialog does not count a failover that is not configured", () => {
  const context = contextOf({ ...INCIDENT, list_models: [model("m", "acme-chat", { failover: ["gone"] })] });
  assert.match(linesOf(suspendDialog(provider("acme-chat"), context), context)[2] ?? "", /no provider: 1 \(m\)/);
});

test("the suspend dialog says that the route is not known while models cannot be read", () => {
  const context = contextOf({ list_suspensions: [] });
  assert.deepEqual(linesOf(suspendDialog(provider("acme-chat"), context), context), [
    "Effect: new requests skip acme-chat on all nodes",
    "Then: the new route is not known: the models could not be read",
  ]);
});

test("suspending sends reason and duration, and no duration until lifted", () => {
  const dialog = suspendDialog(provider("acme-chat"), incident);
  assert.deepEqual(
    dialog.fields.map(({ label, initial }) => `${label} ${initial}`),
    ["Reason console: incident", "Duration 30m"],
  );
  assert.deepEqual(requestsOf(dialog, incident), [
    'PUT /admin/v1/suspensions/provider:acme-chat {"reason":"console: incident","duration":"30m"}',
  ]);
  assert.deepEqual(requestsOf(dialog, incident, { duration: "until lifted", reason: "over" }), [
    'PUT /admin/v1/suspensions/provider:acme-chat {"reason":"over"}',
  ]);
  assert.deepEqual(dialog.confirm, { kind: "yes", button: "suspend now" });
});

test("results name the duration, or that traffic is accepted again", async (context) => {
  const server = createServer((request, response) => {
    const body = request.method === "PUT" ? JSON.stringify(suspension("acme-chat")) : "";
    response.writeHead(request.method === "PUT" ? 200 : 204, { "content-type": "application/json" }).end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = createAdminClient({ address: { kind: "url", url: `http://127.0.0.1:${address.port}` } });
  context.after(() => {
    client.close();
    server.close();
  });
  const suspend = suspendDialog(provider("acme-chat"), incident);
  const lift = liftDialog(provider("beta-labs"), incident);
  const tasks = [
    suspend.task(answersOf(suspend), incident),
    suspend.task(answersOf(suspend, { duration: "until lifted" }), incident),
    lift.task({}, incident),
  ];
  const lines: string[] = [];
  for (const task of tasks) {
    assert.ok(task.kind === "actions");
    for (const action of task.actions) lines.push((await action.run(client, { idempotencyKey: "k" })).message);
  }
  assert.deepEqual(lines, [
    "provider:acme-chat suspended for 30m",
    "provider:acme-chat suspended until lifted",
    "provider:beta-labs takes traffic again",
  ]);
});

test("a reason that the admin API would refuse cannot be confirmed", () => {
  const dialog = suspendDialog(provider("acme-chat"), incident);
  const reason = (reason: string) => dialog.blockedReason?.(answersOf(dialog, { reason }), incident);
  assert.equal(reason("console: incident"), undefined);
  assert.equal(reason("x".repeat(500)), undefined);
  assert.equal(reason(""), "type a reason: callers read it");
  for (const bad of ["x".repeat(501), "a\nb", "\u007f"]) {
    assert.equal(reason(bad), "1 to 500 characters, no control characters");
  }
});

test("several suspensions are confirmed by their number and sent one by one, except existing ones", () => {
  const dialog = suspendDialog(provider("acme-chat", "beta-labs", "gamma"), incident);
  assert.equal(dialog.title, "Suspend 3 providers");
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "3");
  assert.deepEqual(linesOf(dialog, incident), [
    "Names: acme-chat, beta-labs, gamma",
    "Effect: new requests skip these 2 providers on all 3 nodes; 14 in flight finish",
    "Then: their models go to: acme-alt",
    ": models left with no provider: 1 (acme-*)",
    "Already: beta-labs is suspended already and is left unchanged",
  ]);
  assert.deepEqual(
    requestsOf(dialog, incident).map((request) => request.split(" ")[1]),
    ["/admin/v1/suspensions/provider:acme-chat", "/admin/v1/suspensions/provider:gamma"],
  );
});

test("at most eight names are listed", () => {
  const names = Array.from({ length: 11 }, (_, at) => `k${at}`);
  const [first] = linesOf(suspendDialog({ kind: "key", names }, incident), incident);
  assert.equal(first, "Names: k0, k1, k2, k3, k4, k5, k6, k7 and 3 more");
});

test("the effect is described for each kind", () => {
  const single = contextOf({ list_cluster_members: [member("n1")] });
  const effect = (kind: Parameters<typeof suspendDialog>[0]["kind"]) =>
    linesOf(suspendDialog({ kind, names: ["x"] }, single), single);
  assert.deepEqual(
    (["key", "profile", "model", "mcp", "a2a", "issuer"] as const).map((kind) => effect(kind)),
    [
      ["Effect: requests with key x are refused on the only node"],
      ["Effect: requests of callers with profile x are refused on the only node"],
      ["Effect: requests for model x are refused on the only node"],
      ["Effect: calls to MCP server x are refused on the only node"],
      ["Effect: calls to agent x are refused on the only node"],
      ["Effect: requests with tokens of issuer x are refused on the only node"],
    ],
  );
});

test("a dialog says when someone else did the same, and cannot be confirmed", () => {
  const dialog = suspendDialog(provider("acme-chat"), incident);
  const later = contextOf({ ...INCIDENT, list_suspensions: [suspension("acme-chat", { by: "bob" })] });
  assert.equal(dialog.blockedReason?.(answersOf(dialog), incident), undefined);
  assert.equal(dialog.blockedReason?.(answersOf(dialog), later), "provider:acme-chat is suspended already, by bob");
});

test("the lift dialog names who suspended it and why", () => {
  const dialog = liftDialog(provider("beta-labs"), incident);
  assert.equal(dialog.title, "Lift provider:beta-labs");
  assert.deepEqual(linesOf(dialog, incident), [
    'Effect: provider:beta-labs takes traffic again on all 3 nodes. Suspended by alice@example for "key rotation", lifts in 12m 02s',
  ]);
  assert.deepEqual(requestsOf(dialog, incident), ["DELETE /admin/v1/suspensions/provider:beta-labs"]);
  assert.equal(dialog.blockedReason?.({}, incident), undefined);
  assert.equal(dialog.blockedReason?.({}, contextOf({ list_suspensions: [] })), "beta-labs is not suspended");
});

test("suspensions of several kinds are lifted together, without those that are not suspended", () => {
  const context = contextOf({
    list_suspensions: [suspension("a"), suspension("b", { kind: "key", until: null })],
    list_cluster_members: MEMBERS,
  });
  const dialog = liftSuspensionsDialog(
    [
      { kind: "provider", name: "a" },
      { kind: "key", name: "b" },
      { kind: "key", name: "c" },
    ],
    context,
  );
  assert.equal(dialog.title, "Lift 2 suspensions");
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "2");
  assert.match(linesOf(dialog, context)[1] ?? "", /^Effect: key:b is accepted again .* until lifted$/);
  assert.deepEqual(requestsOf(dialog, context), [
    "DELETE /admin/v1/suspensions/provider:a",
    "DELETE /admin/v1/suspensions/key:b",
  ]);
});

test("extending counts from now, keeps the reason and warns about an earlier end", () => {
  const dialog = extendDialog({ kind: "provider", name: "beta-labs" }, incident);
  assert.deepEqual(linesOf(dialog, incident), [
    'Now: "key rotation" by alice@example, lifts in 12m 02s',
    "Effect: provider:beta-labs lifts 30m from now",
    "Then: it is recorded under your name, with the reason below",
  ]);
  assert.deepEqual(tonesOf(dialog, incident, { duration: "5m" }), ["plain", "warn", "plain"]);
  assert.equal(
    linesOf(dialog, incident, { duration: "until lifted" })[1],
    "Effect: provider:beta-labs stays suspended until lifted",
  );
  assert.deepEqual(requestsOf(dialog, incident, { duration: "4h" }), [
    'PUT /admin/v1/suspensions/provider:beta-labs {"reason":"key rotation","duration":"4h"}',
  ]);
  assert.equal(dialog.blockedReason?.(answersOf(dialog), contextOf({})), "provider:beta-labs is not suspended");
});

test("a new suspension asks for kind and name, and suggests known names", () => {
  const dialog = newSuspensionDialog(incident);
  const name = dialog.fields.find(({ id }) => id === "name");
  assert.deepEqual(name?.kind === "text" && name.suggestions, [
    "acme-alt",
    "acme-chat",
    "beta-labs",
    "gamma",
    "acme-large",
    "fast",
  ]);
  assert.deepEqual(linesOf(dialog, incident), ["Effect: none yet: type the name of what to suspend"]);
  assert.match(
    linesOf(dialog, incident, { name: "acme-alt" })[0] ?? "",
    /^Effect: new requests skip acme-alt on all 3/,
  );
  const reason = (values: Readonly<Record<string, string>>) =>
    dialog.blockedReason?.(answersOf(dialog, values), incident);
  assert.equal(reason({}), "type the name of what to suspend");
  assert.equal(reason({ name: "acme" }), "there is no provider named acme");
  assert.equal(reason({ name: "beta-labs" }), "provider:beta-labs is suspended already, by alice@example");
  assert.match(reason({ kind: "model", name: "acme-*" }) ?? "", /names one model/);
  assert.match(reason({ kind: "key", name: "a b" }) ?? "", /^a b cannot be suspended:/);
  assert.equal(reason({ kind: "model", name: "any-model" }), undefined);
  assert.deepEqual(requestsOf(dialog, incident, { kind: "key", name: "prod-chat" }), [
    'PUT /admin/v1/suspensions/key:prod-chat {"reason":"console: incident","duration":"30m"}',
  ]);
});

test("an unavailable suspend or lift gives the reason", () => {
  const { data } = incident;
  assert.equal(whyAllSuspended(data, provider("acme-chat", "beta-labs")), undefined);
  assert.equal(
    whyAllSuspended(data, provider("beta-labs")),
    "provider:beta-labs is suspended already, by alice@example",
  );
  assert.equal(whyAllSuspended(data, provider("beta-labs", "beta-labs")), "all 2 are suspended already");
  assert.match(whyAllSuspended(data, provider("naïve")) ?? "", /^naïve cannot be suspended/);
  assert.equal(whyNotSuspended(data, [{ kind: "provider", name: "beta-labs" }]), undefined);
  assert.equal(whyNotSuspended(data, [{ kind: "key", name: "beta-labs" }]), "beta-labs is not suspended");
  assert.equal(whyNotSuspended(data, []), "none of these 0 is suspended");
});

test("an expired suspension does not count", () => {
  const context = contextOf({ list_suspensions: [suspension("a", { status: "ended" })] });
  assert.equal(whyNotSuspended(context.data, [{ kind: "provider", name: "a" }]), "a is not suspended");
});

test("foreign text is shown without its controls", () => {
  const evil = "a\u001b[31m";
  const context = contextOf({ list_suspensions: [suspension(evil, { reason: "r\u009b2J", by: "b\u202e" })] });
  const dialogs = [
    liftDialog(provider(evil), context),
    extendDialog({ kind: "provider", name: evil }, context),
    suspendDialog(provider(evil, "\u0007"), context),
  ];
  for (const dialog of dialogs) {
    const shown = [
      dialog.title,
      ...linesOf(dialog, context),
      dialog.blockedReason?.(answersOf(dialog), context) ?? "",
    ].join("");
    assert.doesNotMatch(shown, /[\x00-\x1f\x7f-\x9f\u202e]/);
  }
});

test("named replacements serve, and a model with a serving provider is not counted as left", () => {
  const names = ["p0", "p1", "p2", "p3"];
  const some = fc.subarray(names);
  const models = fc.array(fc.record({ provider: fc.constantFrom(...names), failover: some }), { maxLength: 6 });
  fc.assert(
    fc.property(some, some, models, (off, going, plans) => {
      const data = dataOf({
        list_backends: names.map((name) => backend(name)),
        list_suspensions: off.map((name) => suspension(name)),
        list_models: plans.map(({ provider: first, failover }, at) => model(`m${at}`, first, { failover })),
      });
      const { replacements, unserved } = reroutingOf(data, going);
      const isLeft = (name: string) => !off.includes(name) && !going.includes(name);
      assert.ok(replacements.every(isLeft));
      plans.forEach(({ provider: first, failover }, at) => {
        const plan = [first, ...failover];
        const isLost = plan.some((name) => !off.includes(name)) && !plan.some(isLeft);
        assert.equal(unserved.includes(`m${at}`), isLost);
      });
    }),
  );
});

test("undo lifts a suspension, or suspends again with the reason and the remaining time", () => {
  const suspended = suspendDialog(provider("acme-chat"), incident).undo?.({}, incident);
  const later = contextOf({ ...INCIDENT, list_suspensions: [suspension("acme-chat", {})] });
  assert.ok(suspended);
  assert.equal(suspended(later).title, "Lift provider:acme-chat");
  assert.equal(suspended(contextOf({ list_suspensions: [] })).blockedReason?.({}, later), undefined);
  assert.deepEqual(requestsOf(suspended(later), later), ["DELETE /admin/v1/suspensions/provider:acme-chat"]);

  for (const dialog of [
    liftDialog(provider("beta-labs"), incident),
    extendDialog({ kind: "provider", name: "beta-labs" }, incident),
  ]) {
    const again = dialog.undo?.(answersOf(dialog), incident)?.(incident);
    assert.ok(again);
    assert.equal(again.title, "Suspend provider:beta-labs again");
    assert.match(allLinesOf(again, incident)[0] ?? "", /^Effect: new requests skip beta-labs .*lifts in 12m 02s$/);
    assert.deepEqual(requestsOf(again, incident), [
      'PUT /admin/v1/suspensions/provider:beta-labs {"reason":"key rotation","duration":"12m2s"}',
    ]);
    assert.equal(
      again.blockedReason?.({}, { ...incident, now: incident.now + 3_600_000 }),
      "it would have ended by now",
    );
  }
});
