/** Arguments in fragments are read like the whole. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { ArgumentsScan } from "../../../../../src/server/core/dialects/translate/chat-answers/arguments-scan.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";

type Outcome = { readonly state: "empty" | "cut" | "whole"; readonly sent: string } | "problem";

/** Returns the client's final text for any fragments. */
function ended(fragments: readonly string[]): string {
  const scan = new ArgumentsScan();
  const sent = fragments.map((fragment) => scan.push(fragment)).join("");
  return sent + scan.completionText(false);
}

function scanned(fragments: readonly string[]): Outcome {
  const scan = new ArgumentsScan();
  let sent = "";
  try {
    for (const fragment of fragments) sent += scan.push(fragment);
  } catch (error) {
    assert.ok(error instanceof AnswerProblem, String(error));
    return "problem";
  }
  const { state } = scan;
  // An empty object in one fragment waits for the end, because arguments may replace it.
  if (scan.holdsPlaceholder) sent = scan.completionText(false);
  return state === "broken" ? "problem" : { state, sent };
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Text after a complete object can no longer be sent. */
function orProblem(make: () => string): string | undefined {
  try {
    return make();
  } catch (error) {
    assert.ok(error instanceof AnswerProblem && error.message === "more follows the arguments of a tool call");
    return undefined;
  }
}

const objects = fc
  .dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 4 })
  .chain((object) => fc.constantFrom(JSON.stringify(object), JSON.stringify(object, null, 2)));

const spaces = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 3 });

test("an object is complete at its end, at every cut, and no sooner", () => {
  fc.assert(
    fc.property(objects, spaces, spaces, (object, before, after) => {
      const text = `${before}${object}${after}`;
      assert.deepEqual(scanned(Array.from(text)), { state: "whole", sent: object });
      for (let at = 0; at <= text.length; at++) {
        assert.deepEqual(scanned([text.slice(0, at), text.slice(at)]), { state: "whole", sent: object });
        const end = before.length + object.length;
        const state = at <= before.length ? "empty" : at < end ? "cut" : "whole";
        const cut = scanned([text.slice(0, at)]);
        assert.ok(cut !== "problem");
        assert.equal(cut.state, state);
        // A number or word that may continue waits.
        const upTo = object.slice(0, Math.max(0, at - before.length));
        assert.ok(upTo.startsWith(cut.sent) && /^[-+.\w]*$/.test(upTo.slice(cut.sent.length)), cut.sent);
      }
    }),
    { numRuns: 100, verbose: 1 },
  );
});

test("complete text is exactly what JSON.parse reads", () => {
  const unit = fc.constantFrom(...'{}[]:,"\\/u0019aE-+. \n\u0001', "true", "false", "null", '"a":', "1.5e3", "\\ud83d");
  const changed = fc
    .tuple(objects, fc.nat(), fc.nat(3), fc.string({ unit, maxLength: 3 }))
    .map(([text, place, gone, put]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + put + text.slice(at + gone);
    });
  const random = fc.string({ unit, maxLength: 12 }).map((text) => `{${text}}`);
  fc.assert(
    fc.property(fc.oneof(changed, random), (text) => {
      const outcome = scanned(Array.from(text));
      assert.equal(outcome !== "problem" && outcome.state === "whole", isObject(text));
      if (outcome !== "problem") assert.deepEqual(scanned([text]), outcome);
      // The client always gets an object, which contains the whole text if that was not one.
      for (const fragments of [[text], Array.from(text), [text.slice(0, 5), text.slice(5)]]) {
        const made = orProblem(() => ended(fragments));
        if (made === undefined) continue;
        if (isObject(text) || text.trim() === "") assert.equal(made, text.trim());
        else assert.equal((JSON.parse(made) as { _raw: unknown })._raw, text);
      }
    }),
    { numRuns: 5_000, verbose: 1 },
  );
});

test("numbers, literals and escapes follow JSON", () => {
  const values = {
    whole: [
      "0",
      "-0",
      "1.0",
      "-12.5E+10",
      "1e5",
      "12345678901234567890",
      "true",
      "false",
      "null",
      '"\\u00e9\\n\\/"',
      "[]",
      "[{}]",
    ],
    problem: [
      "01",
      "+1",
      "1.",
      ".5",
      "1e",
      "tru",
      "True",
      "NaN",
      "nul",
      "'a'",
      '"\\x"',
      '"\\u00g0"',
      '"\n"',
      "[1,]",
      "{,}",
      "[}",
      "",
      ":",
    ],
  };
  for (const value of values.whole) assert.notEqual(scanned([`{"a":${value}}`]), "problem", value);
  for (const value of values.problem) assert.equal(scanned([`{"a":${value}}`]), "problem", value);
});

test("depth is limited", () => {
  assert.equal(scanned([`{"a":${"[".repeat(1_000_000)}`]), "problem");
});
