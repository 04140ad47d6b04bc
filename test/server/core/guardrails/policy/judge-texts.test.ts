/** Rules over annotations: outcome, decisions, rewritten text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SegmentKind } from "../../../../../src/server/core/guardrails/index.ts";
import { MAX_ENCRYPTED } from "../../../../../src/server/core/guardrails/policy/judge-texts.ts";
import { by, detector, facts, finding, occasion, policyOf, rewrittenBy, rule, segment, VARIABLES } from "./cases.ts";

const TEXT = "Ada's card is 4111111111111111";
const CARD = finding(TEXT, "4111111111111111", "CREDIT_CARD", { score: 1 });
const PERSON = finding(TEXT, "Ada", "PERSON", { score: 0.6 });
const FOUND = { segments: [segment(TEXT)], found: [by("pii", [PERSON, CARD])] };

const fires = (when: string | undefined, inspected = FOUND, on = occasion()): string =>
  policyOf({ rules: [rule({ action: "deny", ...(when === undefined ? {} : { when }) })] }).judge(inspected, on).outcome;

test("conditions can read annotations, labels, the request and its caller", () => {
  const nothing = { segments: [segment("hello")], found: [by("pii", [])] };
  const table: readonly (readonly [when: string, outcome: "deny" | "allow"])[] = [
    ['"pii/CREDIT_CARD" in labels', "deny"],
    ['labels["pii/PERSON"] == 0.6', "deny"],
    ['"pii/US_SSN" in labels', "allow"],
    ['"pii/constructor" in labels', "allow"],
    ['annotations.exists(a, a.type == "pii/CREDIT_CARD" && a.score >= 0.9 && a.length == 16)', "deny"],
    ['annotations.exists(a, a.category == "pii" && a.label == "PERSON" && a.kind == "user" && a.turn == 0)', "deny"],
    ['annotations.all(a, a.detector == "pii" && a.recognizer == "R" && a.ref == "")', "deny"],
    ["annotations.size() > 2", "allow"],
    ['direction == "request" && hop == "llm" && route == "chat" && model.startsWith("gpt-")', "deny"],
    ['key.metadata["team"] == "risk" && profile == "staff" && agent.name == "" && user.email == ""', "deny"],
    ['server == "" && method == "" && name == "" && peer == ""', "deny"],
  ];
  for (const [when, outcome] of table) assert.equal(fires(when), outcome, when);
  assert.equal(fires(undefined), "deny");
  assert.equal(fires(undefined, nothing), "allow");
  assert.equal(fires('direction == "request"', nothing), "deny");
});

test("a denial ends with its message, and counts contain no text", () => {
  const deny = rule({
    name: "cards",
    action: "deny",
    message: "no cards",
    controls: ["pci:3.4"],
    when: '"pii/CREDIT_CARD" in labels',
  });
  const judged = policyOf({
    rules: [rule({ name: "mark", action: "annotate" }), rule(), deny, rule({ name: "after", action: "annotate" })],
  }).judge(FOUND, occasion());
  assert.equal(judged.outcome, "deny");
  assert.equal(judged.outcome === "deny" && judged.message, "no cards");
  const types = { "pii/PERSON": 1, "pii/CREDIT_CARD": 1 };
  assert.deepEqual(judged.decisions, [
    { rule: "mark", action: "annotate", controls: [], types, kinds: ["user"] },
    { rule: "cards", action: "deny", controls: ["pci:3.4"], types, kinds: ["user"] },
  ]);
  assert.ok(!JSON.stringify({ ...judged, annotations: judged.annotations }).includes("4111"));
  const unnamed = policyOf({ rules: [rule({ name: "x", action: "deny" })] }).judge(FOUND, occasion());
  assert.equal(unnamed.outcome === "deny" && unnamed.message, "denied by guardrail rule x");
});

test("redactions add up, the first rule wins a place, and a rule with no effect did not act", () => {
  const rules = [
    rule({ name: "mask", select: 'a.label == "CREDIT_CARD"', operator: "mask", mask_chars: 12 }),
    rule({ name: "names", select: 'a.type == "pii/PERSON"', replacement: "[name]" }),
    rule({ name: "rest" }),
    rule({ name: "ssn", select: 'a.label == "US_SSN"' }),
  ];
  const judged = policyOf({ rules }).judge(FOUND, occasion());
  assert.equal(judged.outcome === "allow" && judged.rewrites[0]?.text, "[name]'s card is ************1111");
  assert.deepEqual(
    judged.decisions.map(({ rule: name, types }) => [name, types]),
    [
      ["mask", { "pii/CREDIT_CARD": 1 }],
      ["names", { "pii/PERSON": 1 }],
    ],
  );
  assert.deepEqual(
    judged.outcome === "allow" && judged.rewrites[0]?.edits.map(({ start, end, rule: name }) => [start, end, name]),
    [
      [0, 3, "names"],
      [14, 30, "mask"],
    ],
  );
});

test("kinds restrict a redaction, and read-only text is never rewritten", () => {
  const kinds: readonly SegmentKind[] = ["system", "user", "tool_args", "header", "query"];
  const segments = [
    ...kinds.map((kind) => segment(TEXT, { kind })),
    segment(TEXT, { kind: "tool_args", isReadOnly: true }),
  ];
  const found = [by("pii", ...segments.map(() => [CARD]))];
  const rewrites = (own: Parameters<typeof rule>[0]): readonly boolean[] | false => {
    const judged = policyOf({ rules: [rule(own)] }).judge({ segments, found }, occasion());
    return judged.outcome === "allow" && judged.rewrites.map((rewrite) => rewrite !== undefined);
  };
  assert.deepEqual(rewrites({}), [true, true, true, false, false, false]);
  assert.deepEqual(rewrites({ kinds: ["tool_args"] }), [false, false, true, false, false, false]);
  const only = policyOf({ rules: [rule()] }).judge(
    { segments: segments.slice(3), found: [by("pii", [CARD], [CARD], [CARD])] },
    occasion(),
  );
  assert.deepEqual([only.outcome, only.decisions], ["allow", []]);
  const refused = policyOf({ rules: [rule({ action: "deny" })] }).judge(
    { segments: segments.slice(3), found: [by("pii", [CARD], [], [])] },
    occasion(),
  );
  assert.deepEqual(refused.decisions[0]?.kinds, ["header"]);
});

test("a failing condition refuses, or is skipped and reported", () => {
  const when = 'labels["pii/US_SSN"] > 0.5';
  const closed = policyOf({ rules: [rule({ action: "deny", when })] }).judge(FOUND, occasion());
  assert.equal(closed.outcome, "error");
  assert.equal(closed.outcome === "error" && closed.message, "guardrail rule r could not be evaluated");
  assert.equal(closed.outcome === "error" && closed.by.part, "when");
  const open = policyOf({
    rules: [rule({ name: "open", when, on_error: "fail_open", controls: ["c"] }), rule()],
  }).judge(FOUND, occasion());
  assert.equal(open.outcome, "allow");
  assert.deepEqual(
    open.skipped.map(({ rule: name, part, controls }) => [name, part, controls]),
    [["open", "when", ["c"]]],
  );
  assert.equal(open.decisions.length, 1);
  const select = policyOf({ rules: [rule({ select: 'key.metadata["gone"] == a.label' })] }).judge(FOUND, occasion());
  assert.equal(select.outcome === "error" && select.by.part, "select");
  const many = Array.from({ length: 40_000 }, (_, at) => ({ ...CARD, start: at, end: at + 1 }));
  const costly = policyOf({ rules: [rule({ action: "deny", when: "annotations.exists(a, a.length > 99)" })] });
  const spent = costly.judge({ segments: [segment("x".repeat(40_000))], found: [by("pii", many)] }, occasion());
  assert.equal(spent.outcome, "error");
});

test("a rule sees the findings of its required detectors, alone or with others", () => {
  const known = facts([detector("a"), detector("b", { type: "remote" })]);
  const judged = (requires: readonly string[] | undefined, ...names: readonly string[]) =>
    policyOf({ rules: [rule({ ...(requires && { requires }), action: "deny" })] }, known).judge(
      { segments: [segment(TEXT)], found: names.map((name) => by(name, [CARD])) },
      occasion(),
    ).outcome;
  assert.equal(judged(undefined, "b"), "deny");
  assert.equal(judged(["a"], "a"), "deny");
  assert.equal(judged(["a"], "b"), "allow");
  assert.equal(judged(["b"], "a", "b"), "deny", "a merged finding is of both");
  assert.equal(judged([], "a", "b"), "allow");
});

test("shadow findings are reported and decide nothing", () => {
  const found = [{ ...by("pii", [CARD]), mode: "shadow" as const }];
  const judged = policyOf({ rules: [rule({ action: "deny", when: "annotations.size() > 0" })] }).judge(
    { segments: [segment(TEXT)], found },
    occasion(),
  );
  assert.deepEqual([judged.outcome, judged.annotations.length, judged.shadow.length], ["allow", 0, 1]);
});

test("a profile has its detectors' rules; an empty selection exempts from all rules that read a detector", () => {
  const known = {
    ...facts([detector("a"), detector("b")]),
    profiles: [
      { name: "some", detectors: ["a"] },
      { name: "none", detectors: [] },
      { name: "all", detectors: undefined },
    ],
  };
  const rules = [
    rule({ name: "route", requires: [], action: "deny", when: 'model == "secret"' }),
    rule({ name: "found", requires: ["a"], action: "deny", when: "model == model" }),
  ];
  assert.deepEqual(policyOf({ rules }, known, "none").rules, ["route"]);
  assert.deepEqual(policyOf({ rules }, known, "none").detectors, []);
  assert.deepEqual(policyOf({ rules }, known, "some").detectors, ["a"]);
  assert.deepEqual(policyOf({ rules }, known, "all").rules, ["route", "found"]);
  assert.deepEqual(policyOf({ rules }, known, "unheard").detectors, ["a", "b"]);
  const exempt = policyOf({ rules }, known, "none");
  assert.equal(exempt.judge({ segments: [segment(TEXT)], found: [by("a", [CARD])] }, occasion()).outcome, "allow");
  assert.equal(exempt.judge({ segments: [], found: [] }, occasion({ model: "secret" })).outcome, "deny");
});

test("piece by piece: earlier findings count in conditions, and only new ones are rewritten and counted", () => {
  const policy = policyOf({
    rules: [
      rule({ name: "third", action: "deny", when: "annotations.size() >= 3" }),
      rule({ name: "mark", action: "annotate", when: 'direction == "response"' }),
      rule({ operator: "placeholder" }),
    ],
  });
  const inspection = policy.open({
    variables: { ...VARIABLES, direction: "response" },
    rewriting: occasion().rewriting,
  });
  const piece = (text: string, ...names: readonly string[]) =>
    inspection.judge({
      segments: [segment(text, { kind: "output" })],
      found: [
        by(
          "pii",
          names.map((name) => finding(text, name, "PERSON")),
        ),
      ],
    });
  const first = piece("Ada said", "Ada");
  assert.equal(first.outcome === "allow" && first.rewrites[0]?.text, "<PERSON_1> said");
  assert.deepEqual(
    first.decisions.map(({ rule: name }) => name),
    ["mark", "r"],
  );
  const unaddressed = piece(" to nobody");
  assert.deepEqual([unaddressed.outcome, unaddressed.decisions], ["allow", []]);
  const second = piece(" and Bob", "Bob");
  assert.equal(second.outcome === "allow" && second.rewrites[0]?.text, " and <PERSON_2>");
  assert.equal(piece(" Cy", "Cy").outcome, "deny");
});

test("explain: false keeps no trace", () => {
  const trace = { pattern: "p", scoreBase: 0.5, validated: true, contextWord: "card", scoreContext: 0 };
  const found = { segments: [segment(TEXT)], found: [by("pii", [{ ...CARD, trace }])] };
  assert.deepEqual(policyOf({}).annotate(found).annotations[0]?.trace, trace);
  assert.equal(policyOf({ explain: false }).annotate(found).annotations[0]?.trace, undefined);
  assert.equal(rewrittenBy(policyOf({}), TEXT, [CARD]), TEXT, "without rules nothing happens");
});

test("more values than `fpe` encrypts per message are refused with the rule named, or skipped if it fails open", () => {
  const value = "4111 1111 1111 1111";
  const cards = (count: number) => {
    const text = `${value},`.repeat(count);
    const at = Array.from({ length: count }, (_, i) => i * (value.length + 1));
    const found = at.map((start) => ({ ...finding(text, value, "CREDIT_CARD"), start, end: start + value.length }));
    return { segments: [segment(text)], found: [by("pii", found)] };
  };
  const judged = (count: number, on_error: "fail_open" | "fail_closed") => {
    const rules = [rule({ name: "cards", operator: "fpe", on_error })];
    return policyOf({ rules, fpe_key: "00".repeat(16) }).judge(cards(count), occasion());
  };
  const most = judged(MAX_ENCRYPTED, "fail_closed");
  assert.equal(most.outcome, "allow");
  assert.deepEqual(most.decisions[0]?.types, { "pii/CREDIT_CARD": MAX_ENCRYPTED });
  const beyond = judged(MAX_ENCRYPTED + 1, "fail_closed");
  assert.deepEqual(
    [beyond.outcome, beyond.outcome === "error" && beyond.message],
    [
      "error",
      `guardrail rule cards selects ${MAX_ENCRYPTED + 1} values, and \`fpe\` encrypts at most ${MAX_ENCRYPTED} in one message`,
    ],
  );
  const open = judged(MAX_ENCRYPTED + 1, "fail_open");
  assert.deepEqual(
    [open.outcome, open.skipped.map(({ rule: name, error }) => [name, error])],
    ["allow", [["cards", "cost"]]],
  );
});
