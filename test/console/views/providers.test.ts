import assert from "node:assert/strict";
import test from "node:test";
import { providersView } from "../../../src/console/views/providers.ts";
import { failoverText } from "../../../src/console/views/providers-table.ts";
import {
  at,
  backend,
  bodyOf,
  cellOf,
  contextOf,
  dialogOf,
  FAILED,
  INCIDENT,
  idsShown,
  requestsOf,
  rowsShown,
  startOf,
  suspension,
  tableOfView,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const incident = contextOf(INCIDENT);
const body = bodyOf(providersView);

test("providers are worst first: failing, suspended, ok, idle, then by error share", () => {
  const list_backends = [
    backend("idle", { state: "idle", error_ratio: null }),
    backend("ok-a", { error_ratio: 0 }),
    backend("ok-b", { error_ratio: 0.1 }),
    backend("off"),
    backend("bad-a", { state: "failing", error_ratio: 0.5 }),
    backend("bad-b", { state: "failing", error_ratio: 1 }),
  ];
  const context = contextOf({ list_backends, list_suspensions: [suspension("off")] });
  assert.deepEqual(idsShown(providersView, context), ["bad-b", "bad-a", "off", "ok-b", "ok-a", "idle"]);
});

test("a row shows measurements, or a dash", () => {
  assert.deepEqual(rowsShown(providersView, incident), [
    ["acme-chat", "compat", "!FAILING", "12.4", "61.0", "188ms", "9.9s", "402", "398 out", "14", "77,110", "-", "-"],
    ["beta-labs", "compat", "~SUSPENDED", "0.0", "-", "201ms", "640ms", "3", "0", "0", "77,110", "12m 02s", "-"],
    ["acme-alt", "compat", " ok", "9.1", "0.2", "201ms", "640ms", "3", "398 in", "11", "77,110", "-", "-"],
    ["gamma", "compat", " idle", "0.0", "-", "-", "-", "3", "0", "0", "77,110", "-", "-"],
  ]);
});

test("states have names, marks and tones", () => {
  assert.deepEqual(cellOf(providersView, incident, "acme-chat", "state"), { text: "!FAILING", tone: "fail" });
  assert.deepEqual(cellOf(providersView, incident, "acme-chat", "err %"), { text: "61.0", tone: "fail" });
  assert.deepEqual(cellOf(providersView, incident, "beta-labs", "state"), { text: "~SUSPENDED", tone: "off" });
  assert.deepEqual(cellOf(providersView, incident, "acme-alt", "err %"), { text: "0.2", tone: "plain" });
});

test("a suspension is shown before the measurements reflect it, and an open-ended one says so", () => {
  const context = contextOf({ list_backends: [backend("a")], list_suspensions: [suspension("a", { until: null })] });
  assert.equal(cellOf(providersView, context, "a", "state").text, "~SUSPENDED");
  assert.equal(cellOf(providersView, context, "a", "lifts in").text, "until lifted");
});

test("columns have letters of their own, and the narrow screen keeps name, state, rate, errors and p95", () => {
  const { columns } = tableOfView(providersView, incident);
  assert.equal(new Set(columns.map(({ letter }) => letter)).size, columns.length);
  assert.deepEqual(
    columns.filter(({ priority }) => priority === 1).map(({ head }) => head),
    ["NAME", "STATE", "REQ/s", "ERR %", "p95"],
  );
  assert.deepEqual(
    columns.map(({ id }) => id),
    columns.map(({ head }) => head.toLowerCase()),
  );
});

test("failover is shown by direction", () => {
  assert.deepEqual(
    [failoverText(0, 0), failoverText(3, 0), failoverText(0, 1_398), failoverText(3, 8)],
    ["0", "3 in", "1,398 out", "3 in 8 out"],
  );
});

test("the pane shows the routes and the last failures", () => {
  const context = contextOf({
    ...INCIDENT,
    list_backend_errors: [
      { ...FAILED, time: at(-2), status: 503, kind: "5xx", attempt: 1, moved_to: "acme-chat" },
      { ...FAILED, time: at(-3), status: null, kind: "connect", attempt: 2, moved_to: null },
      { ...FAILED, time: at(-4), status: 503, kind: "5xx", attempt: 3, moved_to: "acme-alt" },
    ],
  });
  assert.deepEqual(textsOf(body.pane?.("acme-chat", context) ?? []), [
    "state     FAILING  12.4 attempts/s, 61.0 % fail; 14 in flight",
    "measured  first byte p50 188ms p95 9.9s; 402 retries; failover 398 out",
    "serves    acme-large, acme-*",
    "failover  beta-labs SUSPENDED, acme-alt",
    "failures  14:02:05Z  503 5xx         attempt 1  retried here",
    "          14:02:04Z  -   connect     attempt 2  no failover",
    "          14:02:03Z  503 5xx         attempt 3  failed over to acme-alt",
  ]);
  assert.deepEqual(body.paneNeeds?.("acme-chat", context), [{ id: "list_backend_errors", name: "acme-chat" }]);
  assert.deepEqual(body.pane?.("gone", context), []);
});

test("the pane shows the suspension, the providers it is failover for, and unknown parts", () => {
  assert.deepEqual(textsOf(body.pane?.("beta-labs", incident) ?? []).slice(1, 2), [
    'suspended "key rotation" by alice@example, lifts in 12m 02s',
  ]);
  assert.ok(textsOf(body.pane?.("acme-alt", incident) ?? []).includes("after     acme-chat FAILING"));
  assert.ok(textsOf(body.pane?.("acme-alt", incident) ?? []).includes("serves    fast -> acme-small"));
  const bare = contextOf({ list_backends: INCIDENT.list_backends, list_backend_errors: [] });
  assert.deepEqual(textsOf(body.pane?.("acme-alt", bare) ?? []).slice(-2), [
    "serves    not known",
    "failures  none on any node that answers, since its start",
  ]);
});

test("M goes to the servers of a pool, or says that there are none", () => {
  const context = contextOf({ list_backends: [backend("gpu", { members: 2, subsets: ["lora"] }), backend("lone")] });
  assert.ok(textsOf(body.pane?.("gpu", context) ?? []).includes("pool      2 servers; subsets lora; M lists them"));
  assert.equal(whyOf(providersView, "members", context, "gpu"), undefined);
  assert.equal(
    whyOf(providersView, "members", context, "lone"),
    "lone is not a pool, or its name resolves to no server",
  );
  assert.equal(whyOf(providersView, "members", context, "gone"), "the provider no longer exists");
  assert.deepEqual(startOf(providersView, "members", context, "gpu"), {
    kind: "go",
    place: { view: "pool", subject: "gpu" },
  });
});

test("the description has all fields and all failures", () => {
  const failure = { ...FAILED, time: at(-2), status: 503, kind: "5xx", attempt: 1, moved_to: null };
  const context = contextOf({ ...INCIDENT, list_backend_errors: Array.from({ length: 50 }, () => failure) });
  const lines = textsOf(body.describe?.("acme-chat", context) ?? []);
  assert.equal(lines.filter((text) => text.includes("attempt 1")).length, 50);
  assert.ok(lines.includes("units_per_minute  77110"));
  assert.deepEqual(textsOf(body.describe?.("gone", context) ?? []), ["The provider no longer exists."]);
});

test("s suspends and u lifts, one or several, and say why not", () => {
  assert.equal(whyOf(providersView, "suspend", incident, "acme-chat"), undefined);
  assert.equal(
    whyOf(providersView, "suspend", incident, "beta-labs"),
    "provider:beta-labs is suspended already, by alice@example",
  );
  assert.equal(whyOf(providersView, "lift", incident, "acme-alt"), "acme-alt is not suspended");
  assert.equal(whyOf(providersView, "lift", incident, "acme-alt", "gamma"), "none of these 2 is suspended");
  assert.equal(whyOf(providersView, "lift", incident, "beta-labs"), undefined);
  const suspend = dialogOf(startOf(providersView, "suspend", incident, "acme-chat", "gamma"));
  assert.deepEqual(
    requestsOf(suspend, incident).map((it) => it.slice(0, 46)),
    ["PUT /admin/v1/suspensions/provider:acme-chat {", 'PUT /admin/v1/suspensions/provider:gamma {"rea'],
  );
  assert.deepEqual(requestsOf(dialogOf(startOf(providersView, "lift", incident, "beta-labs")), incident), [
    "DELETE /admin/v1/suspensions/provider:beta-labs",
  ]);
});

test("e goes to the errors of the row, f shows its routes", () => {
  assert.deepEqual(startOf(providersView, "errors", incident, "acme-chat"), {
    kind: "go",
    place: { view: "errors", subject: "acme-chat" },
  });
  const page = startOf(providersView, "follow", incident, "acme-alt");
  assert.ok(page.kind === "page");
  assert.equal(page.title, "Routes of acme-alt");
  assert.deepEqual(textsOf(page.lines), [
    "Tried in this order; a suspended provider is skipped.",
    "",
    "ROUTED TO IT FIRST",
    "fast        acme-alt  now uses acme-alt",
    "",
    "IT IS FAILOVER FOR",
    "acme-large  acme-chat FAILING > beta-labs SUSPENDED > acme-alt  now uses acme-chat",
  ]);
  assert.equal(
    whyOf(providersView, "follow", contextOf({ list_backends: [] }), "a"),
    "the routes of its models could not be read",
  );
});

test("a plan without a serving provider is described", () => {
  const context = contextOf({ ...INCIDENT, list_suspensions: [suspension("beta-labs"), suspension("acme-chat")] });
  const page = startOf(providersView, "follow", context, "acme-chat");
  assert.ok(page.kind === "page");
  assert.ok(textsOf(page.lines).some((text) => text.endsWith("beta-labs SUSPENDED  NO PROVIDER LEFT")));
});

test("the narrowed view has rows that need attention, and the filter searches state, reason and author", () => {
  const table = tableOfView(providersView, incident);
  const rows = [0, 1, 2, 3];
  assert.deepEqual(
    rows.filter((row) => table.isBad(row)).map((row) => table.idOf(row)),
    ["acme-chat", "beta-labs"],
  );
  assert.match(table.haystack(2), /beta-labs compat SUSPENDED key rotation alice@example/);
});

test("names are shown without controls", () => {
  const evil = "p\u001b[2J";
  const context = contextOf({ list_backends: [backend(evil, { dialect: "\u0007" })], list_models: [] });
  const texts = [...rowsShown(providersView, context).flat(), ...textsOf(body.describe?.(evil, context) ?? [])];
  assert.ok(texts.length > 10);
  for (const text of texts) assert.doesNotMatch(text, /[\x00-\x1f]/);
});
