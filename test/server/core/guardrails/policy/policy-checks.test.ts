/** Errors and warnings of rules. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GuardrailRule, Guardrails, SegmentKind } from "../../../../../src/server/core/guardrails/index.ts";
import { detector, facts, problemsOf, rule } from "./cases.ts";

const PII = detector("pii", { findingTypes: ["pii/EMAIL_ADDRESS", "pii/CREDIT_CARD", "secret/AWS_KEY"] });
const NAMES = detector("names", { type: "nlp", findingTypes: ["pii/PERSON"], hasHorizon: false });
const KNOWN = { ...facts([PII, NAMES]), profiles: [{ name: "staff", detectors: undefined }] };

const of = (own: Partial<GuardrailRule>, more: Partial<Guardrails> = {}, known = KNOWN): readonly string[] =>
  problemsOf({ rules: [rule({ requires: ["pii"], ...own })], ...more }, known).map((problem) =>
    problem.replace("guardrails.rules.0", "r"),
  );

const deny = (when: string, more: Partial<GuardrailRule> = {}): readonly string[] =>
  of({ action: "deny", when, ...more });

const NEVER = "the rule never acts";

test("a condition is checked like an access rule's, and a type without its category is refused", () => {
  const table: readonly (readonly [when: string, ...problems: string[]])[] = [
    ["annotations.exists(a, a.type == 'pii/CREDIT_CARD' && a.score >= 0.9)"],
    ["model", "error r.when: column 1: the result must be a bool, found string"],
    ["1 / 0 == 1", "error r.when: column 3: this part always fails: division by zero"],
    [
      'annotations.exists(a, a.type == "CREDIT_CARD")',
      "error r.when: column 33: a type is written `<category>/<LABEL>`: `CREDIT_CARD` is none, `pii/CREDIT_CARD` or `label` may be meant",
    ],
    [
      '"CREDIT_CARD" in labels',
      "error r.when: column 1: a type is written `<category>/<LABEL>`: `CREDIT_CARD` is none, `pii/CREDIT_CARD` or `label` may be meant",
    ],
  ];
  for (const [when, ...problems] of table) assert.deepEqual(deny(when), problems, when);
  assert.match(deny('provider == "x"')[0] ?? "", /provider/, "inspection precedes the choice");
  assert.match(deny("annotations.exists(a, a.text == 'x')")[0] ?? "", /text/, "an annotation holds no text");
  assert.match(of({ select: "a.lable == 'X'" })[0] ?? "", /^error r\.select: column \d+: .*label/);
  assert.match(
    deny(
      "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, a+b+c+d+e > 0 || model == '')))))",
    )[0] ?? "",
    /costs up to \d+ units/,
  );
});

test("an unknown name causes a warning that names the closest known one", () => {
  const gives = "no detector that the rule reads gives";
  const table: readonly (readonly [when: string, ...problems: string[]])[] = [
    [
      'annotations.exists(a, a.type == "pii/EMAIL_ADRESS")',
      `warning r.when: column 33: ${gives} \`pii/EMAIL_ADRESS\`, did you mean \`pii/EMAIL_ADDRESS\`?`,
    ],
    [
      '"pii/CREDITCARD" in labels',
      `warning r.when: column 1: ${gives} \`pii/CREDITCARD\`, did you mean \`pii/CREDIT_CARD\`?`,
    ],
    [
      '"pii/PERSON" in labels',
      `warning r.when: column 1: ${gives} \`pii/PERSON\`; \`names\` does: name it in \`requires\``,
    ],
    ['annotations.exists(a, a.type.startsWith("secret/"))'],
    ['annotations.exists(a, a.label in ["CREDIT_CARD", "CARD"])', `warning r.when: column 34: ${gives} \`CARD\``],
    [
      'annotations.exists(a, a.kind == "users")',
      "warning r.when: column 33: no kind of segment is called `users`, did you mean `user`?",
    ],
    [
      'annotations.exists(a, a.category == "PII")',
      "warning r.when: column 37: no category is called `PII`, did you mean `pii`?",
    ],
    [
      'annotations.exists(a, a.detector == "names")',
      "warning r.when: column 37: no detector that the rule reads is called `names`",
    ],
    ['direction == "reqest"', "warning r.when: column 14: no direction is called `reqest`, did you mean `request`?"],
    ['hop == "lm"', "warning r.when: column 8: no hop is called `lm`, did you mean `llm`?"],
    ['profile == "stafff"', "warning r.when: column 12: no profile is called `stafff`, did you mean `staff`?"],
  ];
  for (const [when, ...problems] of table) assert.deepEqual(deny(when), problems, when);
  const open = facts([detector("pii")]);
  assert.deepEqual(of({ action: "deny", when: '"pii/ANYTHING" in labels' }, {}, { ...open, profiles: [] }), []);
});

test("a rule that can never act causes a warning", () => {
  const shadow = facts([{ ...PII, mode: "shadow" }]);
  const headers = facts([{ ...PII, kinds: ["header", "query"] }]);
  const known = (more: typeof shadow) => ({ ...more, profiles: [] });
  assert.deepEqual(deny("false"), [`warning r.when: is always false: ${NEVER}`]);
  assert.deepEqual(of({ select: "false" }), [`warning r.select: is always false: ${NEVER}`]);
  assert.deepEqual(of({ requires: [] }), [
    `warning r.requires: an empty list sees no finding of any detector: ${NEVER}`,
  ]);
  assert.deepEqual(of({ requires: [], action: "deny", when: 'model == "x"' }), []);
  assert.deepEqual(of({ action: "deny" }, {}, known(shadow)), [
    `warning r: \`pii\` in \`mode: shadow\`, which rules do not see: ${NEVER}`,
  ]);
  assert.deepEqual(of({}, {}, known(facts([]))), [`warning r: there is no detector to find anything: ${NEVER}`]);
  assert.deepEqual(of({}, {}, known(headers)), [
    `warning r.kinds: its detectors read \`header\`, \`query\`, and the rule rewrites none of these kinds: ${NEVER}`,
  ]);
  assert.deepEqual(of({ kinds: ["output"] }), [
    `warning r.kinds: its detectors read \`system\`, \`user\`, \`assistant\`, \`tool_args\`, \`tool_result\`, and the rule rewrites none of these kinds: ${NEVER}`,
  ]);
  assert.deepEqual(of({ action: "deny", when: "annotations.size() == 0" }, {}, known(shadow)), []);
  assert.deepEqual(
    problemsOf({ rules: [rule({ name: "all", action: "deny", when: "true" }), rule({ name: "late" })] }, KNOWN),
    ["warning guardrails.rules.1: is never reached: rule `all` before it always denies"],
  );
});

test("a condition that fails whenever nothing was found causes a warning", () => {
  const [warning = ""] = deny('labels["pii/CREDIT_CARD"] > 0.5');
  assert.match(
    warning,
    /^warning r\.when: cannot be evaluated if nothing was found \(.+\), so every such message is refused; check `"<category>\/<LABEL>" in labels &&` first$/,
  );
  assert.match(
    deny('labels["pii/CREDIT_CARD"] > 0.5', { on_error: "fail_open" })[0] ?? "",
    /the rule is skipped and the error is logged/,
  );
  assert.deepEqual(deny('"pii/CREDIT_CARD" in labels && labels["pii/CREDIT_CARD"] > 0.5'), []);
});

test("keys that the action does not read cause a warning", () => {
  assert.deepEqual(of({ action: "annotate", select: "true", kinds: ["user"], replacement: "x", message: "m" }), [
    "warning r.select: is read only by a redact rule",
    "warning r.kinds: is read only by a redact rule",
    "warning r.replacement: is read only by a redact rule with `operator: replace`",
    "warning r.message: is read only by a deny rule",
  ]);
  assert.deepEqual(of({ operator: "mask", replacement: "x" }), [
    "warning r.replacement: is read only by a redact rule with `operator: replace`",
  ]);
});

test("fpe is refused for a type without an alphabet that the rule certainly selects", () => {
  const own = { operator: "fpe" } as const;
  const key = { fpe_key: "2b7e151628aed2a6abf7158809cf4f3c" };
  assert.deepEqual(of(own, key), [
    "error r.operator: the operator `fpe` has no alphabet for `EMAIL_ADDRESS`, `AWS_KEY`: name it in `guardrails.fpe_alphabets`, or choose other types by `select`",
  ]);
  assert.deepEqual(of({ ...own, select: 'a.type == "pii/CREDIT_CARD"' }, key), []);
  assert.deepEqual(
    of(
      {
        ...own,
        select: 'a.score > 0.9 && (a.label == "CREDIT_CARD" || a.category == "secret" && a.label == "CREDIT_CARD")',
      },
      key,
    ),
    [],
  );
  assert.deepEqual(of(own, { ...key, fpe_alphabets: { EMAIL_ADDRESS: "alnum", AWS_KEY: "alnum" } }), []);
});

test("rewriting streamed answers needs a detector with a bounded match length, or the buffering policy", () => {
  const kinds: readonly SegmentKind[] = ["user", "output"];
  const late = {
    ...facts([
      { ...PII, kinds },
      { ...NAMES, kinds },
    ]),
    profiles: [],
  };
  const refusal =
    "error r: cannot rewrite what `names` finds in a streamed answer, since no text is proven clean before its end: set `guardrails.stream.policy: buffer`, or leave `output` out of `kinds`";
  const stream = (policy: "window" | "buffer") =>
    ({ policy, max_hold_bytes: 512, on_hold_overflow: "emit", live_horizon: true }) as const;
  const all = { requires: ["pii", "names"] };
  assert.deepEqual(of(all, {}, late), [refusal]);
  assert.deepEqual(of(all, { stream: stream("window") }, late), [refusal]);
  assert.deepEqual(of(all, { stream: stream("buffer") }, late), []);
  assert.deepEqual(of({}, {}, late), [], "the one that it requires has a reach");
  assert.deepEqual(of({ ...all, kinds: ["user"] }, {}, late), []);
  assert.deepEqual(of({ ...all, when: 'direction == "request"' }, {}, late), []);
  assert.deepEqual(of({ ...all, select: 'a.type == "pii/CREDIT_CARD"' }, {}, late), []);
  assert.deepEqual(of({ ...all, select: 'a.type == "pii/PERSON"' }, {}, late), [refusal]);
  assert.deepEqual(of(all, {}, KNOWN), [], "of requests it is whole");
  const [warning = ""] = of({ ...all, action: "deny" }, {}, late);
  assert.match(
    warning,
    /^warning r: `names` can only judge a streamed answer while it is sent.*`guardrails\.stream\.policy: buffer` holds it back$/,
  );
});

test("a detector beside or behind the call causes a warning if it is too late for a rule", () => {
  const known = {
    ...facts([
      PII,
      detector("beside", { schedule: "overlap", findingTypes: ["pii/PERSON"] }),
      detector("behind", { schedule: "async", findingTypes: ["pii/US_SSN"] }),
    ]),
    profiles: [],
  };
  const problemTexts = (own: Partial<GuardrailRule>, more: Partial<Guardrails> = {}) =>
    problemsOf({ rules: [rule(own)], ...more }, known).map((problem) => problem.replace("guardrails.rules.0", "r"));
  const late =
    "cannot rewrite a request after it was forwarded: a request in which `beside` (`schedule: overlap`) finds something to rewrite";
  const key = "(`guardrails.overlap.on_redact`)";
  assert.deepEqual(problemTexts({}), [`warning r: ${late} is refused ${key}`]);
  assert.deepEqual(problemTexts({}, { overlap: { on_redact: "allow" } }), [
    `warning r: ${late} passes unchanged and is recorded ${key}`,
  ]);
  assert.deepEqual(problemTexts({ select: 'a.type == "pii/CREDIT_CARD"' }), []);
  const nothing = { action: "deny", when: '!("pii/PERSON" in labels)' } as const;
  const early = (names: string) =>
    `warning r.when: is true if nothing was found, and is evaluated before ${names} has answered: name the detectors that it depends on in \`requires\`, with \`schedule: sync\` or \`overlap\``;
  assert.deepEqual(problemTexts(nothing), [early("`beside`, `behind`")]);
  assert.deepEqual(problemTexts({ ...nothing, requires: ["beside"] }), []);
  assert.deepEqual(problemTexts({ ...nothing, when: '!("pii/US_SSN" in labels)', requires: ["behind"] }), [
    early("`behind`"),
  ]);
  assert.deepEqual(problemTexts({ action: "deny", when: '"pii/PERSON" in labels' }), []);
});
