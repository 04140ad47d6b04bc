import assert from "node:assert/strict";
import { test } from "node:test";
import { ArrivingReasoning } from "../../../../../src/server/core/dialects/translate/chat-answers/arriving-reasoning.ts";

const detail = (text: string, signature?: string) => ({
  reasoning_details: [{ type: "reasoning.text", text, ...(signature !== undefined && { signature }), index: 0 }],
});

test("only a detail that repeats all plain text before it is a repetition", () => {
  const cases: readonly (readonly [deltas: readonly object[], text: string])[] = [
    [[{ reasoning: "he" }, { reasoning: "llo" }, detail("hello", "s")], "hello"],
    [[{ reasoning_content: "ha" }, detail("ha", "s"), detail("ha")], "haha"],
    [[detail("ha"), detail("ha"), detail("", "s")], "haha"],
    [
      [
        { reasoning: "ha", ...detail("ha") },
        { reasoning: "ha", ...detail("ha") },
      ],
      "haha",
    ],
    [[{ reasoning: "he" }, detail("llo", "s")], "hello"],
    [[{ content: "x" }, { reasoning: "he" }, { content: "y" }, detail("he", "s")], "he"],
  ];
  for (const [deltas, text] of cases) {
    const reasoning = new ArrivingReasoning();
    const parts = deltas.flatMap((delta) => reasoning.read(delta as Record<string, unknown>));
    assert.equal(parts.map((part) => part.text).join(""), text, JSON.stringify(deltas));
  }
});

test("a text that is too long to be kept is read again", () => {
  const reasoning = new ArrivingReasoning();
  const long = "x".repeat(1 << 20);
  reasoning.read({ reasoning: long });
  reasoning.read({ reasoning: "y" });
  assert.equal(reasoning.read(detail(`${long}y`, "s"))[0]?.text.length, long.length + 1);
  reasoning.read({ reasoning: "short" });
  assert.equal(reasoning.read(detail("short", "s"))[0]?.text, "");
});
