/** Packs added to documents: by example, and by property over documents of every layout. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { type Adding, addPacks, type Pack } from "../../../../src/server/core/packs/index.ts";
import { BASE, baseOf, SIDE, UPPER } from "./packs.ts";

const add = (text: string, ...packs: readonly Pack[]): Adding => addPacks({ name: "d.yaml", text }, packs, baseOf);

function added(text: string, ...packs: readonly Pack[]): string {
  const adding = add(text, ...packs);
  assert.equal(adding.kind, "added", adding.kind === "refused" ? adding.problems.join("\n") : "");
  return adding.kind === "added" ? adding.text : "";
}

function problemsOf(adding: Adding): readonly string[] {
  assert.equal(adding.kind, "refused");
  return adding.kind === "refused" ? adding.problems : [];
}

test("a fragment added to an empty document keeps its author's text", () => {
  const text = `guardrails:
  detectors:
    - type: pii # of the pack
      name: numbers
      entities: [CREDIT_CARD]
  rules:
    - name: no-cards
      requires: [numbers]
      action: deny
      controls: ["f-1:A"]
access_rules:
  - { name: no-shell, at: [mcp], condition: 'name == "shell"', action: deny }
`;
  assert.equal(added("", BASE), text);
  assert.equal(added("# mine", BASE), `# mine\n${text}`);
});

test("a pack that builds on another adds its controls to that one's rules, and each object is reported", () => {
  const adding = add("", BASE, UPPER);
  assert.ok(adding.kind === "added");
  assert.match(adding.text, /controls: \["f-1:A", "g-2:B", "g-2:C"\]/);
  assert.deepEqual(adding.objects, [
    { pack: "base", list: "detector", name: "numbers", change: "added", controls: [] },
    { pack: "base", list: "guardrail rule", name: "no-cards", change: "added", controls: ["f-1:A"] },
    { pack: "base", list: "access rule", name: "no-shell", change: "added", controls: [] },
    { pack: "upper", list: "guardrail rule", name: "note-cards", change: "added", controls: ["g-2:C"] },
    { pack: "upper", list: "guardrail rule", name: "no-cards", change: "controls", controls: ["g-2:B", "g-2:C"] },
    { pack: "upper", list: "access rule", name: "no-shell", change: "controls", controls: ["g-2:B"] },
  ]);
});

test("equivalent existing objects are kept: explicit defaults, another order, additional controls", () => {
  const text = `guardrails:
  detectors:
    - {entities: [CREDIT_CARD], mode: inline, name: numbers, "type": pii}
  rules:
    - requires: [numbers]
      controls: [mine, "f-1:A"]
      action: deny
      name: no-cards
`;
  const adding = add(text, BASE);
  assert.ok(adding.kind === "added");
  assert.deepEqual(
    adding.objects.map(({ change }) => change),
    ["present", "present", "added"],
  );
  assert.ok(adding.text.startsWith(text));
});

const REFUSED: readonly (readonly [name: string, text: string, packs: readonly Pack[], problem: RegExp])[] = [
  ["a missing base pack", "", [UPPER], /`upper` builds on `base`.* no detector `numbers`: add `base` first/],
  ["the wrong order", "", [UPPER, BASE], /`upper` builds on `base`/],
  [
    "a conflicting object",
    "access_rules:\n  - { name: no-shell, condition: 'true', action: deny }\n",
    [BASE],
    /another access rule `no-shell` than `base`, different in `at`, `condition`/,
  ],
  [
    "a detector with another name",
    "guardrails: { detectors: [{ type: pii, name: mine, entities: [CREDIT_CARD] }] }\n",
    [BASE],
    /calls the detector `numbers` of `base` `mine`/,
  ],
  ["merge keys", "access_rules: []\n<<: {}\n", [BASE], /merge keys/],
  ["an invalid list", "access_rules: 3\n", [BASE], /cannot be added/],
  ["a document that is not a map", "- a\n", [BASE], /not a map/],
];

for (const [name, text, packs, problem] of REFUSED) {
  test(`${name} is refused`, () => {
    assert.match(problemsOf(add(text, ...packs)).join("\n"), problem);
  });
}

/** A value as YAML in one of the styles, with comments and blanks at random. */
interface Style {
  readonly flow: boolean;
  readonly indents: boolean;
  readonly comment: () => string;
}

function block(value: unknown, column: number, style: Style): readonly string[] {
  const pad = " ".repeat(column);
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const [first = "", ...rest] = inner(item, column + 2, style);
      return [`${pad}- ${first.trimStart()}${style.comment()}`, ...rest];
    });
  }
  if (typeof value !== "object" || value === null) return [`${pad}${JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([key, it]) => {
    const isNested = typeof it === "object" && it !== null;
    if (!isNested || (style.flow && column > 0)) return [`${pad}${key}: ${JSON.stringify(it)}${style.comment()}`];
    if (Object.keys(it).length === 0) return [`${pad}${key}: ${JSON.stringify(it)}${style.comment()}`];
    const step = Array.isArray(it) && !style.indents ? 0 : 2;
    return [`${pad}${key}:${style.comment()}`, ...block(it, column + step, style)];
  });
}

const inner = (item: unknown, column: number, style: Style): readonly string[] =>
  style.flow ? [JSON.stringify(item)] : block(item, column, style);

const ACCESS = { name: "own", at: ["llm"], condition: 'model == "x # y"', action: "deny", message: "a: 'b'" };
const RULE = { name: "own-rule", action: "annotate", controls: ["c"] };
const NO_CARDS = { name: "no-cards", requires: ["numbers"], action: "deny" };
const NUMBERS = { type: "pii", name: "numbers", entities: ["CREDIT_CARD"] };

const guardrails = fc.record(
  {
    detectors: fc.subarray([{ type: "pii", threshold: 0.5 }, NUMBERS]),
    rules: fc.subarray([RULE, { ...NO_CARDS, controls: ["z"] }]),
    explain: fc.boolean(),
  },
  { requiredKeys: [] },
);

const documents = fc.record(
  {
    public_url: fc.constant("https://example.com"),
    guardrails,
    access_rules: fc.subarray([ACCESS, { ...ACCESS, name: "second" }]),
    default_provider: fc.constant("one"),
  },
  { requiredKeys: [] },
);

const COMMENTS = ["", "", " # c", "\t# a\ttab", "  # [flow: {", "\n\n# - name: no", "\n      # deep"];

const texts = fc
  .record({
    document: documents,
    flow: fc.boolean(),
    indents: fc.boolean(),
    crlf: fc.boolean(),
    ends: fc.boolean(),
    head: fc.constantFrom("", "# head\n", "---\n"),
    comments: fc.array(fc.constantFrom(...COMMENTS), { minLength: 1, maxLength: 12 }),
  })
  .map(({ document, flow, indents, crlf, ends, head, comments }) => {
    let next = 0;
    const comment = (): string => comments[next++ % comments.length] ?? "";
    const isEmpty = Object.keys(document).length === 0;
    const body = isEmpty ? "" : block(document, 0, { flow, indents, comment }).join("\n");
    const text = head + body + (ends && body !== "" ? "\n" : "");
    return { document, flow, text: crlf ? text.replaceAll("\n", "\r\n") : text };
  });

const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

function isSubsequence<T>(part: readonly T[], whole: readonly T[]): boolean {
  let at = 0;
  for (const item of whole) if (at < part.length && item === part[at]) at += 1;
  return at === part.length;
}

/** Compares by name, since the order of packs is the order of their objects. */
function meaning(text: string): unknown {
  const sorted = (value: unknown, key = ""): unknown => {
    if (Array.isArray(value)) {
      const items = value.map((item) => sorted(item));
      return ["controls", "detectors", "rules", "access_rules"].includes(key)
        ? items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
        : items;
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, item]) => [name, sorted(item, name)]),
    );
  };
  return sorted(parse(text) ?? {});
}

test("in any layout a pack fits in, every line stays, adding twice changes nothing, and order does not matter", () => {
  fc.assert(
    fc.property(texts, ({ text, flow }) => {
      const all = added(text, BASE, UPPER, SIDE);
      assert.ok(isSubsequence([...text], [...all]), "a character was lost");
      if (!flow && !/\[\]|\{\}/.test(text)) {
        assert.ok(
          isSubsequence(
            linesOf(text),
            lines(all).map((it) => it.replace(/\r$/, "")),
          ),
          "a line was changed",
        );
      }
      if (text.includes("\r\n")) assert.ok(!/[^\r]\n/.test(all), "a line ends otherwise");
      assert.equal(added(all, BASE, UPPER, SIDE), all);
      for (const order of [
        [SIDE, BASE, UPPER],
        [BASE, SIDE, UPPER],
      ]) {
        assert.deepEqual(meaning(added(text, ...order)), meaning(all));
      }
      assert.equal(added(added(added(text, BASE), UPPER), SIDE), all);
    }),
    { numRuns: Number(process.env["GATEWAY_PACK_RUNS"] ?? 40) },
  );
});

const linesOf = (text: string): readonly string[] => lines(text).map((line) => line.replace(/\r$/, ""));

test("a document of 5,000 lines takes a few seconds at most and keeps all of them", () => {
  const rules = Array.from({ length: 1_000 }, (_, at) =>
    [`  # rule ${at}`, `  - name: r${at}`, `    condition: 'model == "m${at}"'`, "    action: deny", ""].join("\n"),
  );
  const text = `# head\naccess_rules:\n${rules.join("\n")}\n# foot\n`;
  const all = added(text, BASE, UPPER);
  assert.ok(isSubsequence(text.split("\n"), all.split("\n")));
  assert.match(all, /# foot\n/);
});
