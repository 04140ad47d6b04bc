/**
 * `guardrails` of a document compiled into guards for each population, and refusals. Source: document 3, `guardrails`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadGuardrails, mayHoldGuardrails } from "../../../src/server/snapshot/index.ts";
import { problemsOf, snapshotOf } from "./governed.ts";

const document = (detectors: string, rest = ""): string =>
  `providers: [{preset: openai}]\nguardrails:\n  detectors: [${detectors}]\n${rest}`;
const CARDS = "{type: pii, prefilter: pure, entities: [CREDIT_CARD]}";

test("a guard is compiled for each population, and one without a detector is exempt", async () => {
  const rules = "  rules: [{name: no-cards, action: deny}]\n";
  const mail = "{type: pii, name: mail, prefilter: pure, entities: [EMAIL_ADDRESS], mode: shadow}";
  const profiles =
    "profiles: [{name: plain}, {name: exempt, guardrails: {detectors: []}}, {name: cards, guardrails: {detectors: [pii]}}]";
  const ofRule = "  rules: [{name: no-cards, action: deny, requires: [pii]}]\n";
  const all = await snapshotOf(document(CARDS, rules));
  assert.ok(all.guardrails.of(undefined)?.readsRequests);
  assert.equal(all.guardrails.of(undefined)?.readsOutput, false);
  const some = await snapshotOf(document(`${CARDS}, ${mail}`, `${ofRule}${profiles}`));
  const { of } = some.guardrails;
  assert.equal(of("plain"), of(undefined));
  assert.equal(of("exempt"), undefined);
  assert.notEqual(of("cards"), undefined);
  assert.notEqual(of("cards"), of(undefined));
});

test("without guardrails no request is inspected, and the engine is not loaded", async () => {
  const text = "providers: [{preset: openai}]";
  assert.equal(mayHoldGuardrails(text), false);
  assert.equal(await loadGuardrails([text]), undefined);
  assert.equal((await snapshotOf(text)).guardrails.of(undefined), undefined);
});

test("headers and query strings belong to the request and leave bodies unread", async () => {
  const snapshot = await snapshotOf(document("{type: pii, prefilter: pure, apply_to: [header, query]}"));
  const guard = snapshot.guardrails.of(undefined);
  assert.deepEqual([guard?.readsRequests, guard?.readsBodies, guard?.readsOutput], [true, false, false]);
});

test("a rule on the caller alone works without a detector", async () => {
  const snapshot = await snapshotOf(
    document("", "  rules: [{name: r, action: deny, requires: [], when: 'model == \"x\"'}]"),
  );
  assert.equal(snapshot.guardrails.of(undefined)?.readsRequests, false);
});

const REFUSED: readonly (readonly [what: string, text: string, problem: RegExp])[] = [
  [
    "a type to restore that cannot be encrypted",
    document(
      CARDS,
      `  fpe_key: "2b7e151628aed2a6abf7158809cf4f3c"\nmcp: [{name: m, url: "http://x.example", restore: [CREDIT_CARD, PERSON]}]`,
    ),
    /mcp\[0\]\.restore\[1\].*PERSON has no alphabet/,
  ],
  [
    "a label that no rule could name",
    document("{type: llm, llm: {provider: openai, model: m, labels: [A/B], prompt: p}}"),
    /guardrails\.detectors\[0\]\.llm\.labels\[0\]: a label must have at most 64 characters, and no slash/,
  ],
  [
    "async without a memory",
    document("{type: pii, prefilter: pure, schedule: async}", "  cache_entries: 0\n"),
    /detectors\[0\]\.schedule: .*`cache_entries: 0` turns off/,
  ],
  [
    "an entity type that does not exist",
    document("{type: pii, prefilter: pure, entities: [CREDIT_CRAD]}"),
    /entities\[0\]: .*CREDIT_CARD/,
  ],
  [
    "a condition that does not compile",
    document(CARDS, "  rules: [{name: r, action: deny, when: 'labels ['}]\n"),
    /guardrails\.rules\[0\]\.when: /,
  ],
];

for (const [what, text, problem] of REFUSED) {
  test(`a guardrail is refused at its place: ${what}`, async () => {
    const problems = await problemsOf(text);
    assert.ok(
      problems.some((line) => problem.test(line)),
      problems.join("\n"),
    );
    await assert.rejects(snapshotOf(text));
  });
}

test("a document with guardrails is refused if the engine was not loaded for it", async () => {
  const problems = await problemsOf(document(CARDS), { isUnprepared: true });
  assert.match(problems.join("\n"), /guardrails: this cannot be checked/);
});

const RULES_AND = (rules: string, detectors = CARDS, rest = ""): string =>
  document(detectors, `  rules:\n${rules}    - {name: typo, action: deny, when: 'direcion == "request"'}\n${rest}`);

/** The misspelled variable of the last rule is reported beside each. */
const AT_ONCE: readonly (readonly [what: string, text: string, problem: RegExp])[] = [
  [
    "an operator without its key",
    RULES_AND("    - {name: r, action: redact, operator: fpe}\n"),
    /needs `guardrails\.fpe_key`/,
  ],
  [
    "a missing detector",
    RULES_AND("    - {name: r, action: deny, requires: [nobody]}\n"),
    /requires\[0\]: this names no detector/,
  ],
  [
    "two rules with the same name",
    RULES_AND("    - {name: r, action: deny}\n    - {name: r, action: deny}\n"),
    /rules\[1\]/,
  ],
  [
    "another rule that does not compile",
    RULES_AND("    - {name: r, action: deny, when: 'labels ['}\n"),
    /rules\[0\]\.when/,
  ],
  ["an unknown entity", RULES_AND("", "{type: pii, prefilter: pure, entities: [CREDIT_CRAD]}"), /entities\[0\]/],
  ["two detectors with the same name", RULES_AND("", `${CARDS}, ${CARDS}`), /called `pii` too|detectors\[1\]/],
  ["a detector without its object", RULES_AND("", "{type: nlp}"), /needs the object `nlp`/],
  [
    "a recognizer's expression",
    RULES_AND(
      "",
      "{type: pii, prefilter: pure, custom_recognizers: [{name: x, entity: X, patterns: [{regex: '(', score: 1}]}]}",
    ),
    /patterns\[0\]\.regex/,
  ],
  [
    "a judge of a missing provider",
    RULES_AND("", "{type: llm, llm: {provider: nobody, model: m, labels: [A], prompt: p}}"),
    /llm\.provider/,
  ],
  [
    "an access rule",
    RULES_AND("", CARDS, "access_rules: [{name: a, action: deny, condition: 'modl == \"x\"'}]\n"),
    /access_rules\[0\]/,
  ],
  ["a missing budget", RULES_AND("", CARDS, "profiles: [{name: p, budget: nothing}]\n"), /profiles\[0\]\.budget/],
  ["a missing preset", RULES_AND("", CARDS).replace("preset: openai", "preset: opnai"), /preset/],
  [
    "a type to restore",
    RULES_AND("", CARDS, "mcp: [{name: m, url: 'http://x.example', restore: [PERSON]}]\n"),
    /restore/,
  ],
  ["an unknown key", RULES_AND("    - {name: r, action: deny, acton: x}\n"), /acton/],
  ["an unknown key at another place", RULES_AND("", CARDS, "budgest: []\n"), /budgest/],
  [
    "an allow list",
    RULES_AND("", CARDS, "").replace("  rules:", "  allow_list: ['(']\n  allow_list_match: regex\n  rules:"),
    /allow_list\[0\]/,
  ],
];

for (const [what, text, problem] of AT_ONCE) {
  test(`a problem is reported together with a misspelled variable of another rule: ${what}`, async () => {
    const problems = await problemsOf(text);
    assert.ok(
      problems.some((it) => problem.test(it)),
      problems.join("\n"),
    );
    assert.equal(problems.filter((it) => /direcion/.test(it)).length, 1, problems.join("\n"));
    assert.equal(new Set(problems).size, problems.length);
  });
}
