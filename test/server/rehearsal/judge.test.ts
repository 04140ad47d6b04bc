/** One recorded request under many proposals: its new outcome, and unknown ones with the reason. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readDeployment } from "../../../src/server/core/config/index.ts";
import {
  FACT,
  findingKey,
  findingsText,
  type Outcome,
  type RecordedRequest,
} from "../../../src/server/core/rehearsal/index.ts";
import { type ConfigurationSide, type CurrentKey, rehearse } from "../../../src/server/rehearsal/index.ts";
import { compileDeployment, loadGuardrails, loadRules } from "../../../src/server/snapshot/index.ts";

type Document = Readonly<Record<string, unknown>>;

const NOTHING = { kind: "problem", message: "there are no secrets here" } as const;
const provider = (name: string, models: readonly string[], more: Document = {}): Document => ({
  ...{ name, dialect: "compat", base_url: "http://127.0.0.1:1/v1", api_key: "k", models },
  ...more,
});
const rule = (at: string, condition: string, more: Document = {}): Document => ({
  ...{ name: "new", at: [at], condition, action: "deny" },
  ...more,
});
const GUARDRAILS = {
  detectors: [{ type: "pii", name: "finder", prefilter: "pure", entities: ["EMAIL_ADDRESS"] }],
  rules: [{ name: "note", action: "annotate", when: "size(annotations) > 0" }],
};
const guarded = (...rules: readonly Document[]): Document => ({ guardrails: { ...GUARDRAILS, rules } });
const note = GUARDRAILS.rules[0] as Document;

const IN_FORCE: Document = {
  auth: { virtual_keys: true },
  providers: [provider("one", ["sim-*"]), provider("two", ["other-*"])],
  mcp: [{ name: "tools", url: "http://127.0.0.1:2/rpc" }],
  a2a: [{ name: "helper", url: "http://127.0.0.1:3/rpc" }],
  budgets: [{ name: "day", limit: 1_000, window: "day" }],
  profiles: [{ name: "team", budget: "day" }, { name: "free" }],
  guardrails: GUARDRAILS,
};

async function sideOf(change: Document): Promise<ConfigurationSide> {
  const text = JSON.stringify({ ...IN_FORCE, ...change });
  const deployment = readDeployment(
    { name: "d", text },
    { env: () => undefined, secret: () => NOTHING, file: () => NOTHING },
  );
  const loaded = { rules: await loadRules([text]), guardrails: await loadGuardrails([text]) };
  const compiled = compileDeployment({ deployment, fileOverlays: [], limitRev: 1, trusted: undefined, ...loaded });
  if (compiled.kind !== "compiled" || deployment.asWritten === undefined) {
    throw new Error(JSON.stringify(deployment.problems.concat(compiled.problems)));
  }
  return { snapshot: compiled.snapshot, document: deployment.asWritten, awaitsModels: false };
}

const inForce = await sideOf({});
const KEY: CurrentKey = { name: "ci", profile: "team", metadata: { team: "red" } };
const AT = Date.UTC(2026, 10, 20, 12);
const found = findingsText(
  new Map([[findingKey({ direction: "request", type: "pii/EMAIL_ADDRESS", detector: "finder", kind: "user" }), 1]]),
);
const CALLER = { kind: "key", principal: "k1", key: { id: "k1", name: "ci", metadata: KEY.metadata }, profile: "team" };
const CHAT: RecordedRequest = {
  ...{ at: AT, totalMs: 20, id: "r-1", configuration: inForce.snapshot.digest, traffic: "llm", dialect: "compat" },
  facts: FACT.namesModel | FACT.hasBody | FACT.isAdmitted | FACT.isCharged | FACT.requestInspected,
  caller: JSON.stringify(CALLER),
  ...{ route: "POST /v1/chat/completions", model: "sim-1", routed: "one", to: "one", provider: "one" },
  ...{ method: "", name: "", role: "", status: 200, code: "", by: "", acted: "note=annotate", findings: found },
  ...{ attempts: 1, bodyBytes: 400, units: 60, least: 80, most: 80 },
};
const CALL: RecordedRequest = {
  ...CHAT,
  ...{ traffic: "mcp", dialect: "", route: "", model: "", routed: "", to: "tools", provider: "" },
  ...{ method: "tools/call", name: "search", facts: FACT.isAdmitted, acted: "", findings: "", units: 0 },
};
const MESSAGE: RecordedRequest = { ...CALL, traffic: "a2a", to: "helper", method: "SendMessage", role: "ROLE_USER" };
const REFUSED: RecordedRequest = {
  ...CHAT,
  ...{
    facts: FACT.namesModel | FACT.hasBody,
    to: "",
    provider: "",
    code: "policy_denied",
    by: "rule old",
    status: 403,
  },
  ...{ acted: "", findings: "", units: 0, attempts: 0 },
};

async function outcomeOf(change: Document, request: RecordedRequest = CHAT, key: CurrentKey = KEY): Promise<Outcome> {
  const keys = new Map([["k1", key]]);
  const outcomes: Outcome[] = [];
  const nodes = [{ node: "n1", since: 0, requests: [request] }];
  const input = { inForce, proposed: await sideOf(change), nodes, keys, buckets: [], now: AT, since: 0 };
  for (const _ of rehearse(input, (_request, { outcome }) => outcomes.push(outcome)));
  assert.equal(outcomes.length, 1);
  return outcomes[0] as Outcome;
}

const SAME = { kind: "same" };
const refused = (code: string, by: string) => ({ kind: "refused", code, by });
const unknown = (reason: string) => ({ kind: "unknown", reason });

const ROWS: readonly (readonly [what: string, change: Document, expected: object, request?: RecordedRequest])[] = [
  ["nothing changes", {}, SAME],
  ["a rule that matches", { access_rules: [rule("llm", 'model == "sim-1"')] }, refused("policy_denied", "rule new")],
  ["a rule that does not", { access_rules: [rule("llm", 'model == "sim-2"')] }, SAME],
  [
    "a rule on metadata of the key",
    { access_rules: [rule("llm", 'key.metadata.team == "red"')] },
    refused("policy_denied", "rule new"),
  ],
  [
    "a rule that fails closed",
    { access_rules: [rule("llm", 'provider.metadata.tier == "x"')] },
    refused("policy_error", "rule new"),
  ],
  [
    "a rule that fails open",
    { access_rules: [rule("llm", 'provider.metadata.tier == "x"', { on_error: "fail_open" })] },
    SAME,
  ],
  [
    "a rule of the profile",
    { profiles: [{ name: "team", budget: "day", access_rules: [rule("llm", "true")] }] },
    refused("policy_denied", "rule profile team/new"),
  ],
  [
    "a list without the model",
    { profiles: [{ name: "team", budget: "day", allowed_models: ["other-*"] }] },
    refused("model_not_allowed", "profile team"),
  ],
  ["a list with it", { profiles: [{ name: "team", budget: "day", allowed_models: ["sim-*"] }] }, SAME],
  ["a profile that is gone", { profiles: [{ name: "free" }] }, refused("policy_denied", "profile team")],
  [
    "a model that nobody serves",
    { providers: [provider("one", ["x-*"]), provider("two", ["other-*"])] },
    refused("model_not_found", "model_not_found"),
  ],
  [
    "another provider",
    { providers: [provider("two", ["sim-*"]), provider("one", ["y-*"])] },
    { kind: "other_provider", to: "two" },
  ],
  [
    "a provider that lacks a capability",
    {
      profiles: [{ name: "team", budget: "day", require_caps: ["embeddings"] }],
      providers: [provider("one", ["sim-*"], { dialect: "messages" })],
    },
    refused("fidelity_loss", "fidelity_loss"),
  ],
  [
    "a provider that is sent a translation",
    { providers: [provider("one", ["sim-*"], { dialect: "messages" })] },
    unknown("its usage of a model at provider `one` is not recorded"),
  ],
  ["a smaller bound of bodies", { max_body_bytes: 300 }, refused("body_too_large", "max_body_bytes")],
  ["keys that are not accepted any more", { auth: { virtual_keys: false } }, refused("unauthenticated", "auth")],
  [
    "a budget that is too small",
    { budgets: [{ name: "day", limit: 50, window: "day" }] },
    refused("budget_exhausted", "budget day"),
  ],
  [
    "a guardrail rule that denies what was found",
    guarded(note, { name: "stop", action: "deny", when: 'annotations.exists(a, a.type == "pii/EMAIL_ADDRESS")' }),
    refused("guardrail_denied", "guardrail stop"),
  ],
  [
    "one that denies something else",
    guarded(note, { name: "stop", action: "deny", when: 'annotations.exists(a, a.type == "pii/IBAN_CODE")' }),
    SAME,
  ],
  [
    "one that reads scores",
    guarded(note, { name: "stop", action: "deny", when: "annotations.exists(a, a.score > 0.5)" }),
    unknown("guardrail rule `stop` reads scores"),
  ],
  ["one fewer that annotates", guarded(), { kind: "other_guardrail", acted: "" }],
  [
    "one that masks",
    guarded(note, { name: "mask", action: "redact" }),
    { kind: "other_guardrail", acted: "note=annotate, mask=redact" },
  ],
  [
    "a detector that is new",
    {
      guardrails: {
        ...GUARDRAILS,
        detectors: [...GUARDRAILS.detectors, { type: "pii", name: "more", prefilter: "pure", entities: ["IBAN_CODE"] }],
      },
    },
    unknown("detector `more` is new"),
  ],
  [
    "a detector that is changed",
    { guardrails: { ...GUARDRAILS, detectors: [{ ...GUARDRAILS.detectors[0], threshold: 0.9 }] } },
    unknown("detector `finder` is changed"),
  ],
  ["a rule on a tool", { access_rules: [rule("mcp", 'name == "search"')] }, refused("policy_denied", "rule new"), CALL],
  [
    "a rule on arguments that are not asked for",
    { access_rules: [rule("mcp", 'name == "rm" && has(args.path)')] },
    SAME,
    CALL,
  ],
  [
    "a rule on arguments",
    { access_rules: [rule("mcp", "has(args.path)")] },
    unknown("rule `new` reads arguments"),
    CALL,
  ],
  [
    "a rule before it that lets pass",
    {
      access_rules: [
        rule("mcp", 'server == "tools"', { name: "first", action: "allow" }),
        rule("mcp", "has(args.path)"),
      ],
    },
    SAME,
    CALL,
  ],
  ["a server that is gone", { mcp: [] }, refused("not_found", "not_found"), CALL],
  [
    "a rule on a role",
    { access_rules: [rule("a2a", 'role == "ROLE_USER"')] },
    refused("policy_denied", "rule new"),
    MESSAGE,
  ],
  [
    "a rule on parts",
    { access_rules: [rule("a2a", "size(parts) > 1")] },
    unknown("rule `new` reads parts of messages"),
    MESSAGE,
  ],
  ["no rule where one refused, and guardrails", {}, unknown("its texts were not inspected, but would be now"), REFUSED],
  ["another rule where one refused", { access_rules: [rule("llm", "true")] }, SAME, REFUSED],
  [
    "a code that no document decides",
    { access_rules: [], max_body_bytes: 1_000 },
    unknown("`overloaded` decided it, which does not depend on the document"),
    { ...REFUSED, code: "overloaded", by: "" },
  ],
  ["the same code, and the same document", {}, SAME, { ...REFUSED, code: "overloaded", by: "" }],
  [
    "a session, and another document",
    { max_body_bytes: 1_000 },
    unknown("it is a WebSocket session"),
    { ...CHAT, traffic: "websocket" },
  ],
  [
    "a name that was cut",
    { max_body_bytes: 1_000 },
    unknown("a name in it was too long to record"),
    { ...CHAT, facts: CHAT.facts | FACT.isCut },
  ],
  [
    "a failover, and other providers",
    { providers: [provider("one", ["sim-*"], { failover: { to: ["two"] } }), provider("two", ["z-*"])] },
    unknown("it was served after a failover"),
    { ...CHAT, provider: "two", attempts: 2 },
  ],
];

describe("a recorded request under a proposed configuration", () => {
  for (const [what, change, expected, request] of ROWS) {
    test(what, async () => assert.deepEqual(await outcomeOf(change, request), expected));
  }

  test("is unknown if its key is gone or has changed", async () => {
    const nodes = [{ node: "n1", since: 0, requests: [CHAT] }];
    const outcomes: Outcome[] = [];
    const input = { inForce, proposed: inForce, nodes, keys: new Map(), buckets: [], now: AT, since: 0 };
    for (const _ of rehearse(input, (_request, { outcome }) => outcomes.push(outcome)));
    assert.deepEqual(outcomes, [unknown("the key `ci` no longer exists")]);
    const changed = { ...KEY, metadata: { team: "blue" } };
    assert.deepEqual(await outcomeOf({}, CHAT, changed), unknown("the key `ci` has changed since"));
    assert.deepEqual(await outcomeOf({}, CHAT, { ...KEY, profile: "free" }), unknown("the key `ci` has changed since"));
  });
});
