/**
 * Words that trip up a newcomer, and file names with two meanings. This is a minimum and not the goal: a text can pass
 * and still be hard to understand. How the project writes is in CONTRIBUTING, "How we write".
 */

import assert from "node:assert/strict";
import { basename } from "node:path";
import { test } from "node:test";
import { commentsOf } from "./comments.ts";
import { filesUnder, read } from "./source.ts";

const files = filesUnder("");
const code = files.filter((path) => /^(?:src|bin)\/.*\.(?:tsx?|mjs|cjs)$/.test(path));
const pages = files.filter((path) => path === "README.md" || /^docs\/.*\.md$/.test(path));

/** First words of a comment that begins in the middle of a thought. */
const BEGINNINGS = /^(?:Of|What|Whose|Whom|Who|That|As|By|So|Where|It|Undefined)\b/;

/** Archaisms and inversions. `nor` is allowed after `neither`. */
const ARCHAIC = new RegExp(
  [
    "whom",
    "whoever",
    "(?<!neither\\b[^;]*)(?<!\\\\)nor",
    "anew",
    "for want of",
    "of (?:theirs|ours)",
    "(?:is|are) told(?! apart)",
    "such as is",
    "what there is",
    "the deed",
    "the trouble",
    "cannot be told",
  ]
    .map((words) => `\\b${words}\\b`)
    .join("|"),
  "i",
);

test("no comment begins in the middle of a sentence", () => {
  const found = code.flatMap((path) =>
    commentsOf(read(path))
      .filter(({ text }) => BEGINNINGS.test(text))
      .map(({ line, text }) => `${path}:${line} ${text.slice(0, 60)}`),
  );
  assert.deepEqual(found, []);
});

test("archaic words are in no source and on no page", () => {
  const found = [...code, ...pages].flatMap((path) =>
    paragraphs(path)
      .filter(({ text }) => ARCHAIC.test(text))
      .map(({ line, text }) => `${path}:${line} ${ARCHAIC.exec(text)?.[0]}`),
  );
  assert.deepEqual(found, []);
});

/** File names that mean the same in each folder. */
const SHARED_NAMES = "index types ports metrics limits columns rows register schema options parse";
/** Names that were used twice before this check, most of them in folders that mirror each other. Add none. */
const KNOWN_NAMES =
  "acknowledgements americas asia audit auth budgets certificates credentials europe guardrails keys models overlays providers reconcile request restore routes secrets settings sources statistics suspensions tools usage worker";
const MAY_REPEAT: ReadonlySet<string> = new Set(
  `${SHARED_NAMES} ${KNOWN_NAMES}`.split(" ").map((name) => `${name}.ts`),
);

test("a file of src/server has a name of its own", () => {
  const byName = new Map<string, string[]>();
  for (const path of code) {
    const name = basename(path);
    if (!path.startsWith("src/server/") || MAY_REPEAT.has(name)) continue;
    byName.set(name, [...(byName.get(name) ?? []), path]);
  }
  const twice = [...byName.values()].filter((paths) => paths.length > 1).map((paths) => paths.join(" "));
  assert.deepEqual(twice, []);
});

/** Texts that belong together: single lines of code, and the joined lines of a comment or of a paragraph. */
function paragraphs(path: string): readonly { readonly line: number; readonly text: string }[] {
  const lines = read(path).split("\n");
  if (!path.endsWith(".md")) {
    const comments = commentsOf(read(path));
    return [...comments, ...lines.map((text, index) => ({ line: index + 1, text: textOnly(text) }))];
  }
  return lines.map((text, index) => ({ line: index + 1, text }));
}

/** Returns the quoted texts of a line of code. Identifiers are left to human judgment. */
function textOnly(line: string): string {
  return [...line.matchAll(/"(?:[^"\\]|\\.)*"|`[^`]*`?|'(?:[^'\\]|\\.)*'/g)].map(([text]) => text).join(" ");
}
