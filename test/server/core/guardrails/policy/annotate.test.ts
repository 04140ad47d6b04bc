/** From findings to annotations: agreement, thresholds, placeholders, allow list, conflicts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type {
  AnnotationResult,
  DetectorFindings,
  Finding,
  Guardrails,
} from "../../../../../src/server/core/guardrails/index.ts";
import { by, detector, facts, finding, occasion, policyOf, problemsOf, rewrittenBy, rule, segment } from "./cases.ts";

const KNOWN = facts([detector("a"), detector("b"), detector("judge", { type: "llm" })]);

const annotate = (
  guardrails: Partial<Guardrails>,
  text: string,
  ...found: readonly DetectorFindings[]
): AnnotationResult => policyOf(guardrails, KNOWN).annotate({ segments: [segment(text)], found });

const at = (start: number, end: number, label = "X", score = 0.5, category: Finding["category"] = "pii"): Finding => ({
  start,
  end,
  category,
  label,
  score,
  recognizer: "",
  trace: undefined,
});

const TEXT = "0123456789abcdefghij";

/** Returns `label start-end score`. */
const shown = ({ annotations }: AnnotationResult): readonly string[] =>
  annotations.map(({ label, start, end, score }) => `${label} ${start}-${end} ${score}`);

test("merge_similar_or_contained: one type merges overlaps, contained findings go, the rest stays", () => {
  const table: readonly (readonly [findings: readonly Finding[], ...left: string[]])[] = [
    [[at(0, 5), at(3, 8, "X", 0.9)], "X 0-8 0.9"],
    [[at(0, 5), at(5, 8)], "X 0-5 0.5", "X 5-8 0.5"],
    [[at(0, 5), at(3, 8), at(7, 12)], "X 0-12 0.5"],
    [[at(0, 9), at(2, 4, "Y", 0.9)], "X 0-9 0.5"],
    [[at(0, 5), at(0, 5, "Y", 0.9)], "Y 0-5 0.9"],
    [[at(0, 5, "Z"), at(0, 5, "Y")], "Y 0-5 0.5"],
    [[at(0, 5), at(3, 8, "Y")], "X 0-5 0.5", "Y 3-8 0.5"],
    [[at(0, 5), at(3, 8, "X", 0.5, "secret")], "X 0-5 0.5", "X 3-8 0.5"],
  ];
  for (const [findings, ...left] of table) {
    assert.deepEqual(shown(annotate({}, TEXT, by("a", findings))), left);
    assert.deepEqual(shown(annotate({}, TEXT, by("a", findings.toReversed()))), left, "whatever the order");
  }
});

test("of two tied types the one with a context word stays, then the validated one, then by name", () => {
  const trace = (contextWord: string | undefined, validated: boolean | undefined) => ({
    trace: { pattern: "p", scoreBase: 0.5, validated, contextWord, scoreContext: 0 },
  });
  const z = at(0, 9, "ZA_ID", 1);
  const c = at(0, 9, "CREDIT_CARD", 1);
  const table: readonly (readonly [winner: string, za: Partial<Finding>, card: Partial<Finding>])[] = [
    ["ZA_ID", trace("identity", true), trace(undefined, true)],
    ["ZA_ID", trace("identity", undefined), trace(undefined, true)],
    ["CREDIT_CARD", trace(undefined, true), trace("card", true)],
    ["ZA_ID", trace("identity", true), trace("card", undefined)],
    ["ZA_ID", trace(undefined, true), trace(undefined, undefined)],
    ["ZA_ID", trace(undefined, true), {}],
    ["CREDIT_CARD", trace("identity", true), trace("card", true)],
    ["CREDIT_CARD", {}, {}],
    ["CREDIT_CARD", { ...trace("identity", true), score: 0.9 }, trace(undefined, undefined)],
  ];
  for (const [winner, za, card] of table) {
    for (const conflicts of ["merge_similar_or_contained", "remove_intersections"] as const) {
      for (const explain of [true, false]) {
        const found = [
          { ...z, ...za },
          { ...c, ...card },
        ];
        for (const order of [found, found.toReversed()]) {
          const { annotations } = annotate({ conflicts, explain }, TEXT, by("a", order));
          assert.deepEqual(
            annotations.map(({ label }) => label),
            [winner],
            JSON.stringify([za, card]),
          );
        }
      }
    }
  }
});

test("remove_intersections removes the finding with the lower score, on a tie the later one; none changes nothing", () => {
  const cut: readonly (readonly [findings: readonly Finding[], ...left: string[]])[] = [
    [[at(0, 5), at(3, 8, "Y", 0.9)], "Y 3-8 0.9"],
    [[at(0, 5, "X", 0.9), at(3, 8, "Y")], "X 0-5 0.9"],
    [[at(0, 5), at(3, 8, "Y")], "X 0-5 0.5"],
    [[at(0, 5), at(3, 8, "Y", 0.4), at(6, 12, "Z", 0.9)], "X 0-5 0.5", "Z 6-12 0.9"],
    [[at(0, 6, "X", 0.9), at(3, 7, "Y", 0.1), at(4, 12, "Z", 0.95)], "Z 4-12 0.95"],
    // A removed finding does not remove those that overlap with it alone.
    [[at(0, 5, "X", 0.7), at(4, 9, "Y", 0.8), at(8, 12, "Z", 0.9)], "X 0-5 0.7", "Z 8-12 0.9"],
  ];
  for (const [findings, ...left] of cut) {
    assert.deepEqual(shown(annotate({ conflicts: "remove_intersections" }, TEXT, by("a", findings))), left);
  }
  const all = annotate({ conflicts: "none" }, TEXT, by("a", [at(0, 9), at(2, 4), at(2, 4, "Y")]));
  assert.equal(all.annotations.length, 3);
});

test("names, places and organizations merge across spaces, and other types do not", () => {
  const text = "Ada  Lovelace";
  const parts = (label: string): readonly string[] =>
    shown(annotate({}, text, by("a", [at(0, 3, label), at(5, 13, label)])));
  for (const label of ["PERSON", "LOCATION", "ORGANIZATION"]) assert.deepEqual(parts(label), [`${label} 0-13 0.5`]);
  assert.equal(parts("TITLE").length, 2);
  assert.equal(annotate({}, "Ada, Bob", by("a", [at(0, 3, "PERSON"), at(5, 8, "PERSON")])).annotations.length, 2);
});

test("a verdict over the whole text neither hides findings in it nor is hidden, allowed or merged", () => {
  const verdicts = [at(0, 20, "INJECTION", 1, "injection"), at(0, 20, "JAILBREAK", 0.9, "injection")];
  const all = annotate(
    { allow_list: ["0"], allow_list_match: "regex" },
    TEXT,
    by("a", [at(10, 15)]),
    by("judge", verdicts),
  );
  assert.deepEqual(new Set(shown(all)), new Set(["INJECTION 0-20 1", "JAILBREAK 0-20 0.9", "X 10-15 0.5"]));
});

test("agreement raises what two detectors found, once, before the threshold, and reports by how much", () => {
  const how = { agreement_boost: 0.2, score_threshold: 0.6, conflicts: "none" } as const;
  assert.deepEqual(shown(annotate(how, TEXT, by("a", [at(0, 5)]), by("b", [at(4, 9)]))), ["X 0-5 0.7", "X 4-9 0.7"]);
  assert.deepEqual(shown(annotate(how, TEXT, by("a", [at(0, 5)]), by("b", [at(5, 9)]))), []);
  assert.deepEqual(
    shown(annotate(how, TEXT, by("a", [at(0, 5), at(1, 6)]))),
    [],
    "one detector does not agree with itself",
  );
  assert.deepEqual(shown(annotate(how, TEXT, by("a", [at(0, 5)]), by("b", [at(0, 5, "Y")]))), []);
  const [raised] = annotate(how, TEXT, by("a", [at(0, 5, "X", 0.95)]), by("b", [at(0, 5)])).annotations;
  assert.deepEqual([raised?.score, Math.round((raised?.agreement ?? 0) * 100)], [1, 5]);
});

test("agreement in one pass equals comparing every pair", () => {
  const place = fc.tuple(
    fc.nat(30),
    fc.integer({ min: 1, max: 12 }),
    fc.constantFrom("a", "b", "judge"),
    fc.constantFrom("X", "Y"),
  );
  fc.assert(
    fc.property(fc.array(place, { maxLength: 12 }), (places) => {
      const all = places.map(([start, length, name, label]) => ({ name, finding: at(start, start + length, label) }));
      const found = ["a", "b", "judge"].map((name) =>
        by(
          name,
          all.filter((one) => one.name === name).map(({ finding }) => finding),
        ),
      );
      const { annotations } = annotate({ agreement_boost: 0.1, conflicts: "none" }, "x".repeat(50), ...found);
      const raised = annotations.filter(({ agreement }) => agreement > 0).length;
      const wanted = all.filter((one) =>
        all.some(
          (other) =>
            other.name !== one.name &&
            other.finding.label === one.finding.label &&
            other.finding.start < one.finding.end &&
            one.finding.start < other.finding.end,
        ),
      ).length;
      assert.equal(raised, wanted);
    }),
    { numRuns: 2000 },
  );
});

test("score_threshold keeps scores that reach it, and the evaluation can use another", () => {
  const policy = policyOf({ score_threshold: 0.5 }, KNOWN);
  const found = { segments: [segment(TEXT)], found: [by("a", [at(0, 2), at(4, 6, "X", 0.49)])] };
  assert.deepEqual(shown(policy.annotate(found)), ["X 0-2 0.5"]);
  assert.equal(policy.annotate(found, 0).annotations.length, 2);
  assert.deepEqual(
    policy.annotate(found).dropped.map(({ by: reason }) => reason),
    ["score_threshold"],
  );
});

test("the allow list has whole values, or expressions matched anywhere in them", () => {
  const text = "mail ada@Example.org or bob@corp.test\nnow";
  const found = by("a", [finding(text, "ada@Example.org", "E"), finding(text, "bob@corp.test\nnow", "E")]);
  const left = (allow_list: readonly string[], allow_list_match: "exact" | "regex"): readonly number[] =>
    annotate({ allow_list, allow_list_match }, text, found).annotations.map(({ start }) => start);
  assert.deepEqual(left([], "exact"), [5, 24]);
  assert.deepEqual(left(["ada@Example.org"], "exact"), [24]);
  assert.deepEqual(left(["ada@example.org", "Example", ""], "exact"), [5, 24]);
  assert.deepEqual(left(["EXAMPLE"], "regex"), [24]);
  assert.deepEqual(left(["", "nothing"], "regex"), [5, 24]);
  assert.deepEqual(left(["^now$"], "regex"), [5], "anchors stand at lines");
  assert.deepEqual(left(["test.now"], "regex"), [5], "dot is any character");
  assert.deepEqual(left(["ada|zzz", "bob"], "regex"), []);
  assert.deepEqual(left(["(?s-i:EXAMPLE)", "CORP"], "regex"), [5], "a flag is of its entry alone");
});

test("an invalid allow list is refused", () => {
  const refused = (allow_list: readonly string[]): readonly string[] =>
    problemsOf({ allow_list, allow_list_match: "regex" });
  const none = "is not a regular expression of RE2 (which has no lookaround and no back references)";
  assert.deepEqual(refused(["ok", "(?=x)y", "a)|(b"]), [
    `error guardrails.allow_list.1: ${none}`,
    `error guardrails.allow_list.2: ${none}`,
  ]);
  assert.deepEqual(refused([".*"]), [
    "error guardrails.allow_list.0: matches the empty text, so every finding would be allowed",
  ]);
  assert.deepEqual(refused(["x".repeat(1025)]), [
    "error guardrails.allow_list.0: has 1025 characters, at most 1024 are allowed",
  ]);
  assert.equal(refused(Array.from({ length: 50 }, () => "[a-z]{900}y")).length, 1);
});

test("text inside a placeholder or pseudonym is no finding, and no other brackets hide any", () => {
  const hidden = (text: string, value: string): boolean =>
    annotate({}, text, by("a", [finding(text, value, "X")])).dropped.some(({ by: reason }) => reason === "form");
  for (const [text, value] of [
    ["I am <PERSON>", "PERSON"],
    ["I am <PERSON_12>.", "PERSON_12"],
    ["<US_SSN:7k3qx0b9m2>", "<US_SSN:7k3qx0b9m2>"],
    ["a <X> <PERSON_1> b", "PERSON_1"],
  ] as const) {
    assert.ok(hidden(text, value), text);
  }
  for (const [text, value] of [
    ["<CARD_4111111111111111>", "4111111111111111"],
    ["<A4111111111111111>", "4111111111111111"],
    ["<PHONE:2125550123>", "2125550123"],
    ["<person_1>", "person_1"],
    ["see <PERSON_1> there", "see <PERSON_1>"],
    ["<PERSON Ada>", "Ada"],
  ] as const) {
    assert.ok(!hidden(text, value), text);
  }
});

test("a rewrite covers exactly the chosen places, in each strategy", () => {
  const place = fc.tuple(
    fc.nat(18),
    fc.integer({ min: 1, max: 6 }),
    fc.constantFrom("X", "Y", "Z"),
    fc.constantFrom(0.3, 0.6, 0.9),
  );
  const strategy = fc.constantFrom<Guardrails["conflicts"][]>("merge_similar_or_contained", "none");
  fc.assert(
    fc.property(fc.array(place, { maxLength: 8 }), strategy, (places, conflicts) => {
      const text = "abcdefghijklmnopqrstuvwxy";
      const findings = places.map(([start, length, label, score]) => at(start, start + length, label, score));
      const policy = policyOf({ conflicts, rules: [rule({ operator: "mask" })] });
      const covered = [...text].map((letter, index) =>
        findings.some(({ start, end }) => start <= index && index < end) ? "*" : letter,
      );
      assert.equal(rewrittenBy(policy, text, findings, occasion()), covered.join(""));
    }),
    { numRuns: 2000 },
  );
});
