/** Charts above the lists of guardrails, requests, calls, controls and artifacts, and advice in their panes. */
import assert from "node:assert/strict";
import test from "node:test";
import type { ArtifactRecord, CertificateRecord, HistoryRecord, RequestRecord } from "../../../src/admin-api/index.ts";
import { artifactsView } from "../../../src/console/views/artifacts.ts";
import { certificatesView } from "../../../src/console/views/certificates.ts";
import { controlsView } from "../../../src/console/views/controls.ts";
import { guardrailsView } from "../../../src/console/views/guardrails.ts";
import { mcpView } from "../../../src/console/views/mcp.ts";
import { requestsView } from "../../../src/console/views/requests.ts";
import { bodyOf, contextOf, NOW, startOf, tableOfView, textsOf, whyOf } from "./keys-fixture.ts";

type View = typeof requestsView;
type Shown = ReturnType<typeof contextOf>;

const at = (seconds: number): string => new Date(NOW + seconds * 1_000).toISOString();
const above = (view: View, context: Shown, rows = 9): readonly string[] =>
  textsOf(bodyOf(view).above?.(context, { columns: 120, rows }, undefined) ?? []);
const pane = (view: View, id: string, context: Shown): string =>
  textsOf(bodyOf(view).pane?.(id, context) ?? []).join("\n");

const request = (more: Partial<RequestRecord>): RequestRecord => ({
  ...{ time: at(-30), id: "r-1", caller: "ci", profile: null, hop: "llm", route: "chat_completions", model: "m-1" },
  ...{ provider: "acme", status: 200, code: null, attempts: 1, ttfb_ms: 12, total_ms: 40, input_tokens: 1 },
  ...{ output_tokens: 1, decided_by: null, node: "n1" },
  ...more,
});
const REQUESTS = [
  request({}),
  request({ id: "r-2", time: at(-25), status: 503, provider: "acme-alt", ttfb_ms: 900 }),
  request({ id: "r-3", time: at(-24), status: 429, code: "budget_exhausted" }),
  request({ id: "r-4", time: at(-20), status: 499 }),
  request({
    id: "r-5",
    time: at(-20),
    hop: "mcp",
    provider: "tickets",
    status: 502,
    code: "upstream_unreachable\u001b",
  }),
];

test("requests have bands for success, refusal and failure; a client that disconnects is not a failure", () => {
  const lines = above(requestsView, contextOf({ list_requests: REQUESTS }));
  assert.deepEqual(
    lines.map((text) => [text.slice(0, 24).trim(), /[\d.]+[a-z]*B?(?: max \S+)$/.exec(text)?.[0] ?? ""]),
    [
      ["succeeded", "2 max 1"],
      ["refused", "1 max 1"],
      ["failed", "2 max 2"],
      ["first byte", "900ms max 900ms"],
      ["", ""],
    ],
  );
  for (const text of lines.slice(0, 4)) assert.ok(text.length <= 120);
  assert.deepEqual(above(requestsView, contextOf({ list_requests: [] })), []);
});

test("e on a request goes to the failures of its provider, or to other callers refused for the same reason", () => {
  const context = contextOf({ list_requests: REQUESTS });
  const table = tableOfView(requestsView, context);
  const ids = REQUESTS.map((_, row) => table.idOf(row));
  assert.equal(whyOf(requestsView, "errors", [ids[0] ?? ""], context), "it succeeded");
  assert.deepEqual(startOf(requestsView, "errors", [ids[1] ?? ""], context), {
    kind: "go",
    place: { view: "errors", subject: "acme-alt" },
  });
  assert.deepEqual(startOf(requestsView, "errors", [ids[2] ?? ""], context), {
    kind: "go",
    place: { view: "refusals" },
    filter: "budget_exhausted",
  });
});

test("the pane of an MCP server has only its own calls, with the failed ones listed", () => {
  const server = {
    ...{ name: "tickets", url: "http://t", protocol: "2026-07-28", registry_name: null, state: "ok" as const, rate: 1 },
    ...{
      error_ratio: 0,
      ttfb_p50_ms: 1,
      ttfb_p95_ms: 2,
      in_flight: 0,
      units_per_minute: 0,
      node: "n1",
      suspended_until: null,
    },
  };
  const context = contextOf({ list_requests: REQUESTS, list_mcp_servers: [server] });
  const text = pane(mcpView, "tickets", context);
  assert.match(text, /last 15m +1 call: 0 succeeded, 0 refused, 1 failed; 30s are kept/);
  assert.match(text, /bad +14:01:47Z {2}502 upstream_unreachable\\u001b {2}chat_completions/);
  assert.equal(above(mcpView, context)[2]?.slice(-9).trim(), "1 max 1");
});

const task = (more: Partial<HistoryRecord>): HistoryRecord => ({
  ...{ time: at(-30), kind: "guardrails", name: "cards", attempts: null, failures: null, ttfb_p50_ms: null },
  ...{ ttfb_p95_ms: null, in_flight: null, input_tokens: null, output_tokens: null, used: null, refused: null },
  ...{
    decisions: null,
    findings: null,
    types: null,
    held_bytes: null,
    applied_index: null,
    commit_ms: null,
    node: "n1",
  },
  ...more,
});

const types = (...all: readonly (readonly [string, number])[]) => all.map(([type, findings]) => ({ type, findings }));

test("guardrails have a band per rule and detector, with shadow findings and held-back text", () => {
  const detector = (name: string, mode: "inline" | "shadow") => ({
    ...{ kind: "detector" as const, name, type: "pii", mode, schedule: "sync" as const, role: "discover" as const },
    ...{ kinds: ["user"], threshold: null, timeout_ms: null, on_error: "fail_open" as const, entities: null },
    ...{ recognizers: [], requires: null, operator: null, controls: [], exempt: [], fingerprint: null },
    ...{ horizon_bytes: null, decisions: null, errors: 2, texts_read: 30, texts_remembered: 10, node: "n1" },
  });
  const context = contextOf({
    list_guardrails: [detector("personal", "inline"), detector("trial", "shadow")],
    list_history: [
      task({ decisions: 3 }),
      task({ decisions: 2, node: "n2", time: at(-95) }),
      task({ name: "personal", findings: 7, types: types(["CREDIT_CARD", 5], ["EMAIL_ADDRESS", 2]) }),
      task({ name: "personal", findings: 1, time: at(-95), node: "n2", types: types(["EMAIL_ADDRESS", 1]) }),
      task({ name: "trial", findings: 4 }),
      task({ name: "streams", held_bytes: 2_048 }),
      task({ name: "cards", decisions: 90, time: at(-3_600) }),
    ],
  });
  assert.deepEqual(
    above(guardrailsView, context).map((text) => [
      text.slice(0, 24).trim(),
      /[\d.]+[a-z]*B?(?: max \S+)$/.exec(text)?.[0] ?? "",
    ]),
    [
      ["acted cards", "5 max 3"],
      ["found personal", "8 max 7"],
      ["~found trial", "4 max 4"],
      ["held back", "2.0kB max 2.0kB"],
      ["", ""],
    ],
  );
  const text = pane(guardrailsView, "detector:trial", context);
  assert.match(
    text,
    /health +2 failures of 30 texts, 6\.7 %: such texts pass uninspected; cache answered 25 % of 40 texts/,
  );
  assert.match(text, /last 15m +findings, all nodes +4 /);
  assert.match(text, /compare +personal, inline and of this type, have 8 findings/);
  const personal = pane(guardrailsView, "detector:personal", context);
  const bars = personal.split("\n").flatMap((text) => (/ max \d/.test(text) ? [text.search(/[▁-█]/)] : []));
  assert.deepEqual(new Set(bars).size, 1, "the charts begin in the same column");
  assert.match(personal, /by type +CREDIT_CARD +5 .*\n +EMAIL_ADDRESS +3 /);
});

test("controls have a bar each, most served first, and say if there is no decision", () => {
  const control = (name: string, decisions: number, rules = ["cards"]) => ({
    control: name,
    pack: "",
    rules,
    decisions,
    node: "n1",
  });
  const context = contextOf({
    list_controls: [control("a", 2), control("b", 8), control("c", 0), control("d", 1, [])],
  });
  assert.deepEqual(
    above(controlsView, context).map((text) => text.slice(0, 3).trim()),
    ["b", "a", "d", ""],
  );
  assert.match(pane(controlsView, "c", context), /evidence +no decision yet/);
  assert.match(pane(controlsView, "d", context), /no rule cites it any longer/);
  assert.deepEqual(startOf(controlsView, "follow", ["a"], context), {
    kind: "go",
    place: { view: "guardrails" },
    row: "rule:cards",
  });
  assert.equal(whyOf(controlsView, "requests", ["d"], context), "no rule cites it now");
});

test("a certificate shows its remaining lifetime and what to do", () => {
  const certificate = (more: Partial<CertificateRecord>): CertificateRecord => ({
    ...{ names: ["g.example"], source: "/etc/tls.crt", state: "valid", serial: "4A", issuer: "test" },
    ...{ not_before: at(-30 * 86_400), not_after: at(30 * 86_400), next_renewal: null, step: null, last_error: null },
    ...{ last_error_at: null, failures: 0, next_attempt: null, node: "n1" },
    ...more,
  });
  const certificatePane = (more: Partial<CertificateRecord>): string =>
    pane(certificatesView, "n1", contextOf({ list_certificates: [certificate(more)] }));
  assert.match(certificatePane({}), /life +#{20}\.{20} {2}30d of 60d left/);
  assert.doesNotMatch(certificatePane({}), /^do /m);
  assert.match(certificatePane({ state: "expires_soon" }), /do +renewed outside the gateway/);
  assert.match(certificatePane({ last_error: "no\u001b" }), /do +replace the files with a matching/);
  const url = "https://acme.example/directory";
  assert.match(certificatePane({ source: url, last_error: "dns" }), /do +`gateway check` tests the authority/);
  assert.match(
    certificatePane({ source: url, state: "pending", not_after: null }),
    /do +the first certificate is being ordered/,
  );
  assert.match(certificatePane({ state: "expired", not_after: at(-7_200) }), /expired 2h 00m ago/);
});

test("artifacts are worst first, with those in use, missing and unused, and what to do", () => {
  const artifact = (more: Partial<ArtifactRecord>): ArtifactRecord => ({
    ...{ model: "ner", file: "model.onnx", role: "graph", digest: `sha256:${"a".repeat(64)}`, size: 1_000 },
    ...{
      state: "ready",
      fetched: null,
      message: null,
      source: "hub.example/ner@abc",
      detectors: ["people"],
      node: "n1",
    },
    ...more,
  });
  const rows = [
    artifact({}),
    artifact({ model: null, file: "sha256/bb", role: null, state: "unused", size: 3_000, detectors: [], source: null }),
    artifact({ model: "big", state: "failed", fetched: 250, message: "no way there\u001b" }),
  ];
  const context = contextOf({ list_artifacts: rows });
  const table = tableOfView(artifactsView, context);
  assert.deepEqual(
    [0, 1, 2].map((row) => table.isBad(row)),
    [false, false, true],
  );
  const lines = above(artifactsView, context);
  assert.match(lines[0] ?? "", /^in use +#+\.+ {2}1\.0kB in 1 file$/);
  assert.match(lines[2] ?? "", /^unused .* 3\.0kB in 1 file$/);
  assert.match(
    pane(artifactsView, table.idOf(2), context),
    /state +failed: no way there\\u001b[\s\S]*250B of 1\.0kB, 25 %/,
  );
  assert.match(pane(artifactsView, table.idOf(1), context), /^do +.*gateway models prune/m);
  assert.deepEqual(startOf(artifactsView, "follow", [table.idOf(0)], context), {
    kind: "go",
    place: { view: "guardrails" },
    row: "detector:people",
  });
  assert.equal(whyOf(artifactsView, "follow", [table.idOf(1)], context), "no detector uses it");
});
