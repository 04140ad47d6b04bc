/** A request judged again with the findings of detectors beside the call: additions, and what was already reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetectorFindings, GuardrailRule } from "../../../../src/server/core/guardrails/index.ts";
import { addedJudgement } from "../../../../src/server/core/guardrails/index.ts";
import { by, detector, facts, finding, occasion, policyOf, rule, segment } from "./policy/cases.ts";

const TEXT = "Ada's card is 4111111111111111";
const CARD = finding(TEXT, "4111111111111111", "CREDIT_CARD", { score: 1 });
const NAME = finding(TEXT, "Ada", "PERSON");
const KNOWN = facts([detector("now"), detector("late", { schedule: "overlap" })]);
const LATE = new Set(["late"]);

interface Judged {
  readonly rules: readonly Partial<GuardrailRule>[];
  readonly now?: DetectorFindings;
  readonly late?: DetectorFindings;
  readonly onRedact?: "deny" | "allow";
}

/** Returns the judgment before the request was forwarded, and the later one. */
function judged({ rules, now = by("now", [CARD]), late = by("late", [NAME]), onRedact = "deny" }: Judged) {
  const policy = policyOf({ rules: rules.map((own) => rule(own)) }, KNOWN);
  const segments = [segment(TEXT)];
  const before = policy.judge({ segments, found: [now], pending: LATE }, occasion());
  const all = policy.judge({ segments, found: [now, late] }, occasion());
  return { before, after: addedJudgement(before, all, { detectors: LATE, onRedact }) };
}

const decided = (judgement: ReturnType<typeof judged>["after"]) =>
  judgement.decisions.map(({ rule: name, action, types }) => [name, action, types]);

test("known findings are not reported again, and new ones are, with their own counts", () => {
  const { before, after } = judged({ rules: [{ name: "note", action: "annotate" }] });
  assert.deepEqual(decided(before), [["note", "annotate", { "pii/CREDIT_CARD": 1 }]]);
  assert.equal(after.outcome, "allow");
  assert.deepEqual(decided(after), [["note", "annotate", { "pii/PERSON": 1 }]]);
  const nothing = judged({ rules: [{ name: "note", action: "annotate" }], late: by("late", []) });
  assert.deepEqual(decided(nothing.after), []);
  const onCaller = judged({ rules: [{ name: "note", action: "annotate", when: 'profile == "staff"', requires: [] }] });
  assert.equal(onCaller.before.decisions.length, 1);
  assert.deepEqual(decided(onCaller.after), []);
});

test("a denial sees all findings, whenever they were made", () => {
  const when = '"pii/PERSON" in labels && "pii/CREDIT_CARD" in labels';
  const { before, after } = judged({ rules: [{ name: "both", action: "deny", when, message: "not both" }] });
  assert.equal(before.outcome, "allow");
  assert.ok(after.outcome === "deny");
  assert.deepEqual([after.message, after.by.rule, after.decisions], ["not both", "both", [after.by]]);
});

test("a rule that names a detector beside the call waits for it, and one on all findings is evaluated at once", () => {
  const when = '!("pii/PERSON" in labels)';
  const naming = { name: "unless", action: "deny", when, requires: ["late"] } as const;
  const found = judged({ rules: [naming] });
  assert.deepEqual([found.before.outcome, found.after.outcome], ["allow", "allow"]);
  const nothing = judged({ rules: [naming], late: by("late", []) });
  assert.deepEqual([nothing.before.outcome, nothing.after.outcome], ["allow", "deny"]);
  assert.equal(judged({ rules: [{ name: "unless", action: "deny", when }] }).before.outcome, "deny");
});

test("a late rewrite denies or is recorded as an annotation", () => {
  const rules = [{ name: "all" }, { name: "behind", action: "annotate" }] as const;
  const { before, after } = judged({ rules });
  assert.deepEqual(decided(before)[0], ["all", "redact", { "pii/CREDIT_CARD": 1 }]);
  assert.ok(after.outcome === "deny");
  assert.deepEqual(decided(after), [["all", "deny", { "pii/PERSON": 1 }]]);
  assert.deepEqual(after.by, after.decisions.at(-1));
  assert.match(after.message, /rule all would rewrite the request, which was already forwarded/);
  const allowed = judged({ rules, onRedact: "allow" }).after;
  assert.ok(allowed.outcome === "allow");
  assert.deepEqual(decided(allowed), [
    ["all", "annotate", { "pii/PERSON": 1 }],
    ["behind", "annotate", { "pii/PERSON": 1 }],
  ]);
  assert.deepEqual(allowed.rewrites, [undefined]);
});

test("a value rewritten before needs no rewrite, and an unrewritten part of it does", () => {
  const same = judged({ rules: [{ name: "all" }], late: by("late", [CARD]) });
  assert.equal(same.after.outcome, "allow");
  assert.deepEqual(decided(same.after), []);
  const within = judged({ rules: [{ name: "all" }], late: by("late", [finding(TEXT, "1111", "PIN")]) });
  assert.equal(within.after.outcome, "allow");
  const wider = judged({
    rules: [{ name: "all" }],
    late: by("late", [finding(TEXT, "card is 4111111111111111", "X")]),
  });
  assert.equal(wider.after.outcome, "deny");
});

test("shadow findings and skipped rules are reported once", () => {
  const shadow = (name: string): DetectorFindings => ({ detector: name, mode: "shadow", findings: [[NAME]] });
  const rules = [
    { name: "now", action: "deny", when: 'labels["pii/X"] > 0.5', on_error: "fail_open" },
    { name: "then", action: "deny", when: 'labels["pii/X"] > 0.5', on_error: "fail_open", requires: ["late"] },
  ] as const;
  const { before, after } = judged({ rules, now: shadow("now"), late: shadow("late") });
  const ruleAndDetectorNames = ({ skipped, shadow: found }: typeof after) => [
    skipped.map((fault) => fault.rule),
    found.map((one) => one.detector),
  ];
  assert.deepEqual(ruleAndDetectorNames(before), [["now"], ["now"]]);
  assert.deepEqual(ruleAndDetectorNames(after), [["then"], ["late"]]);
});

test("a rule that cannot be evaluated over all findings is an error", () => {
  const { before, after } = judged({
    rules: [{ name: "broken", action: "deny", when: 'labels["pii/X"] > 0.5', requires: ["late"] }],
  });
  assert.equal(before.outcome, "allow");
  assert.ok(after.outcome === "error");
  assert.equal(after.by.rule, "broken");
});
