/** `guardrails` of a document to what guards each population, and what is refused. Source: document 3, `guardrails`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadGuardrails, mayHoldGuardrails } from "../../../src/server/snapshot/index.ts";
import { problemsOf, snapshotOf } from "./governed.ts";

const document = (detectors: string, rest = ""): string =>
  `providers: [{preset: openai}]\nguardrails:\n  detectors: [${detectors}]\n${rest}`;
const CARDS = "{type: pii, prefilter: pure, entities: [CREDIT_CARD]}";

test("a guard is compiled for each population, and one that selects no detector is exempt", async () => {
  const rules = "  rules: [{name: no-cards, action: deny}]\n";
  const mail = "{type: pii, name: mail, prefilter: pure, entities: [EMAIL_ADDRESS], mode: shadow}";
  const profiles =
    "profiles: [{name: plain}, {name: exempt, guardrails: {detectors: []}}, {name: cards, guardrails: {detectors: [pii]}}]";
  const ofRule = "  rules: [{name: no-cards, action: deny, requires: [pii]}]\n";
  const all = await snapshotOf(document(CARDS, rules));
  assert.ok(all.guardrails.of(undefined)?.inspectsRequest);
  assert.equal(all.guardrails.of(undefined)?.inspectsOutput, false);
  const some = await snapshotOf(document(`${CARDS}, ${mail}`, `${ofRule}${profiles}`));
  const { of } = some.guardrails;
  assert.equal(of("plain"), of(undefined));
  assert.equal(of("exempt"), undefined);
  assert.notEqual(of("cards"), undefined);
  assert.notEqual(of("cards"), of(undefined));
});

test("without guardrails nobody is inspected, and the engine is not loaded", async () => {
  const text = "providers: [{preset: openai}]";
  assert.equal(mayHoldGuardrails(text), false);
  assert.equal(await loadGuardrails([text]), undefined);
  assert.equal((await snapshotOf(text)).guardrails.of(undefined), undefined);
});

test("headers and query strings are of the request, and leave bodies unread", async () => {
  const snapshot = await snapshotOf(document("{type: pii, prefilter: pure, apply_to: [header, query]}"));
  const guard = snapshot.guardrails.of(undefined);
  assert.deepEqual([guard?.inspectsRequest, guard?.inspectsBody, guard?.inspectsOutput], [true, false, false]);
});

test("a rule on the caller alone stands without a detector", async () => {
  const snapshot = await snapshotOf(
    document("", "  rules: [{name: r, action: deny, requires: [], when: 'model == \"x\"'}]"),
  );
  assert.equal(snapshot.guardrails.of(undefined)?.inspectsRequest, false);
});

const REFUSED: readonly (readonly [what: string, text: string, problem: RegExp])[] = [
  [
    "a type to turn back that cannot be encrypted",
    document(
      CARDS,
      `  fpe_key: "2b7e151628aed2a6abf7158809cf4f3c"\nmcp: [{name: m, url: "http://x.example", restore: [CREDIT_CARD, PERSON]}]`,
    ),
    /mcp\[0\]\.restore\[1\].*PERSON has no alphabet/,
  ],
  [
    "a label that no rule could name",
    document("{type: llm, llm: {provider: openai, model: m, labels: [A/B], prompt: p}}"),
    /guardrails\.detectors\[0\]\.llm\.labels\[0\]: a label has 64 characters at most, no slash/,
  ],
  [
    "async without a memory",
    document("{type: pii, prefilter: pure, schedule: async}", "  cache_entries: 0\n"),
    /detectors\[0\]\.schedule: .*`cache_entries: 0` turns off/,
  ],
  [
    "an entity that there is not",
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
  test(`refused where it stands: ${what}`, async () => {
    const problems = await problemsOf(text);
    assert.ok(
      problems.some((line) => problem.test(line)),
      problems.join("\n"),
    );
    await assert.rejects(snapshotOf(text));
  });
}

test("a document with guardrails is refused where the engine was not loaded for it", async () => {
  const problems = await problemsOf(document(CARDS), { isUnprepared: true });
  assert.match(problems.join("\n"), /guardrails: this cannot be judged/);
});
