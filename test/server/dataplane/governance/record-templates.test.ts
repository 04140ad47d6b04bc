/** A record built from a template equals the one built without, for any request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { eventText } from "../../../../src/server/audit/index.ts";
import { ANONYMOUS } from "../../../../src/server/auth/index.ts";
import type { Decision, Verdict } from "../../../../src/server/core/policy/index.ts";
import { settleVerdict } from "../../../../src/server/dataplane/governance/decide.ts";
import type { DecidedRequest } from "../../../../src/server/dataplane/governance/decided-request.ts";
import type { EffectiveProfile } from "../../../../src/server/dataplane/governance/effective-profile.ts";
import { createDecisionMetrics } from "../../../../src/server/dataplane/governance/metrics.ts";
import type { DecisionRecord } from "../../../../src/server/dataplane/ports.ts";

const effectiveProfiles = ["team", "mcp", 'a "quoted" one'].map(
  (name) => ({ caller: ANONYMOUS, profile: { name, budget: { name: "month" } } }) as unknown as EffectiveProfile,
);
const metrics = createDecisionMetrics(createInstruments());

const decisionOf = (rule: string, action: Decision["action"], controls: readonly string[]): Decision => ({
  rule,
  layer: { kind: "deployment" },
  action,
  controls,
});
const decisions: readonly Decision[] = [
  decisionOf("note", "allow", ["AC-3", "AC-3", "AC-4"]),
  decisionOf("note", "allow", []),
  decisionOf("no", "deny", ["é", '"']),
  { ...decisionOf("mine", "allow", ["P"]), layer: { kind: "profile", profile: "team" } },
];

function verdictOf(by: Decision): Verdict {
  const weighed = { decisions: [by], skipped: [] };
  return by.action === "allow"
    ? { kind: "allow", ...weighed }
    : { kind: "deny", code: "policy_denied", message: "no", by, ...weighed };
}

function recorded(verdict: Verdict, request: DecidedRequest, state: EffectiveProfile): DecisionRecord {
  const records: DecisionRecord[] = [];
  const trail = { record: (record: DecisionRecord) => void records.push(record), recordFailedAuthentication() {} };
  settleVerdict(verdict, request, state, { trail, metrics, log: nullLog, facts: { allowedBy: undefined } });
  return records[0] ?? assert.fail("nothing was recorded");
}

const withoutTemplate = ({ event, controls, data }: DecisionRecord): string => eventText({ event, controls, data });

/** Including ids that occur elsewhere in a record, as values, names or parts of them. */
const ids = fc.oneof(
  fc.uuid(),
  fc.constantFrom("allow", "mcp", "key", "team", "month", "note", "llm", "request", "m", "0", "null", "deny", "sim"),
  fc.constantFrom('a"b', "\\", "é", "\u2028", "", "x".repeat(128), "x".repeat(129), "a b", "\ud800"),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const models = fc.oneof(
  fc.constantFrom(undefined, "m", "gpt", "allow", 'with "quotes"', "\u0000", "é".repeat(300), "n".repeat(5_000)),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const request = fc.record({
  requestId: ids,
  hop: fc.constantFrom("llm" as const, "mcp" as const, "a2a" as const),
  route: fc.constantFrom("chat_completions", "messages"),
  to: fc.constantFrom("sim", "other"),
  model: models,
  name: fc.constantFrom(undefined, "search", "allow"),
});

test("for any requests each record equals the one without a template", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(request, fc.nat({ max: 3 }), fc.nat({ max: 2 })), { maxLength: 40 }), (made) => {
      for (const [{ name, ...asked }, which, callerAt] of made) {
        const decided: DecidedRequest = { ...asked, ...(name !== undefined && { name }) };
        const by = decisions[which] ?? assert.fail();
        const record = recorded(verdictOf(by), decided, effectiveProfiles[callerAt] ?? assert.fail());
        assert.equal(eventText(record), withoutTemplate(record));
        assert.deepEqual(record.controls, [...new Set(by.controls)]);
        assert.equal(record.data["request"], decided.requestId);
      }
    }),
    { numRuns: 400 },
  );
});

test("the second record of a kind is made from the first, until the rule is another object", () => {
  const plain = { hop: "llm", route: "messages", to: "sim", model: "m" } as const;
  const [effectiveProfile] = effectiveProfiles;
  const [first, second] = ["0b5c8a52", "0b5c8a53"].map((requestId) =>
    recorded(verdictOf(decisions[0] ?? assert.fail()), { ...plain, requestId }, effectiveProfile ?? assert.fail()),
  );
  assert.equal(first?.prepared?.template, second?.prepared?.template);
  assert.match(eventText(first ?? assert.fail()), /"request":"0b5c8a52"/);
  assert.match(eventText(second ?? assert.fail()), /"request":"0b5c8a53"/);
  const reloaded = { ...(decisions[0] ?? assert.fail()), rule: "renamed" };
  const third = recorded(verdictOf(reloaded), { ...plain, requestId: "0b5c8a54" }, effectiveProfile ?? assert.fail());
  assert.notEqual(third.prepared?.template, first?.prepared?.template);
  assert.match(eventText(third), /"rule":"renamed"/);
});

test("several rules, skipped rules and errors have no template", () => {
  const [one, two] = [decisions[0] ?? assert.fail(), decisions[3] ?? assert.fail()];
  const fault = { rule: "broken", layer: one.layer, controls: [], error: "missing_key", detail: "d" } as const;
  const verdicts: readonly Verdict[] = [
    { kind: "allow", decisions: [one, two], skipped: [] },
    { kind: "allow", decisions: [one], skipped: [fault] },
    { kind: "error", code: "policy_error", message: "m", by: fault, decisions: [], skipped: [] },
  ];
  for (const verdict of verdicts) {
    const asked = { requestId: "r1", hop: "llm", route: "messages", to: "sim", model: "m" } as const;
    assert.equal(recorded(verdict, asked, effectiveProfiles[0] ?? assert.fail()).prepared, undefined);
  }
});

test("model names invented by clients are not kept forever", () => {
  const by = decisions[0] ?? assert.fail();
  const templates: WeakRef<object>[] = [];
  for (let at = 0; at < 20_000; at += 1) {
    const asked = { requestId: `r-${at}`, hop: "llm", route: "messages", to: "sim", model: `model ${at}` } as const;
    const record = recorded(verdictOf(by), asked, effectiveProfiles[0] ?? assert.fail());
    assert.equal(eventText(record), withoutTemplate(record));
    templates.push(new WeakRef(record.prepared?.template ?? assert.fail()));
  }
  const again = { requestId: "r-0", hop: "llm", route: "messages", to: "sim", model: "model 0" } as const;
  const record = recorded(verdictOf(by), again, effectiveProfiles[0] ?? assert.fail());
  assert.notEqual(record.prepared?.template, templates[0]?.deref());
});
