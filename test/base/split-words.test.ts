/** A line is split into words like in a shell. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { splitWords } from "../../src/base/index.ts";

const words = (line: string): readonly string[] => {
  const split = splitWords(line);
  return split.kind === "words" ? split.words : assert.fail(line);
};

test("a command line is split into words like in a shell, without other expansion", () => {
  assert.deepEqual(words(`a "b c" 'd "e' f\\ g "" x'y'z`), ["a", "b c", 'd "e', "f g", "", "xyz"]);
  assert.deepEqual(words("echo $HOME `id` $(id) a|b >c ;d"), ["echo", "$HOME", "`id`", "$(id)", "a|b", ">c", ";d"]);
  assert.deepEqual(words("  "), []);
});

test("a quote that is not closed is reported", () => {
  assert.deepEqual(splitWords(`a "b`), { kind: "unclosed", quote: '"' });
  assert.deepEqual(splitWords("a 'b\\"), { kind: "unclosed", quote: "'" });
});
