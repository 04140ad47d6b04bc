import assert from "node:assert/strict";
import { test } from "node:test";
import { textOfLine } from "../../../src/console/model/text.ts";
import { documentPage } from "../../../src/console/pages/document.ts";
import { previewPage, refusalPage } from "../../../src/console/pages/preview.ts";

test("a preview shows each path, and each warning with its place", () => {
  const page = previewPage({
    name: "default",
    revision: 118,
    changed: true,
    differences: [
      { path: "providers.acme-alt", kind: "added" },
      { path: "providers.acme-chat.timeout", kind: "changed" },
      { path: "budgets.ci", kind: "removed" },
    ],
    warnings: [
      { source: "default", path: "providers[1].api_key", line: 12, column: 5, message: "a credential in the text" },
      { source: "default", path: "", line: 0, column: 0, message: "no model is routed" },
    ],
  });
  assert.deepEqual(page.map(textOfLine), [
    "Preview: default against revision 118; nothing is written yet.",
    "",
    "3 differences: 1 added, 1 removed, 1 changed",
    "+ added   providers.acme-alt",
    "~ changed providers.acme-chat.timeout",
    "- removed budgets.ci",
    "",
    "2 warnings:",
    "~ default 12:5  providers[1].api_key: a credential in the text",
    "~ default  no model is routed",
  ]);
});

test("a changed object is shown with the fields that the gateway names, unless the documents show more", () => {
  const differences = [{ path: "providers.acme", kind: "changed" as const, fields: ["base_url", "pool.subsets"] }];
  const change = { name: "default", revision: 118, changed: true, differences, warnings: [] };
  const lines = (...more: Parameters<typeof previewPage> extends [unknown, ...infer Rest] ? Rest : never) =>
    previewPage(change, ...more)
      .map(textOfLine)
      .slice(3, 5);
  assert.deepEqual(lines(), ["~ changed providers.acme  in base_url, pool.subsets", ""]);
  assert.deepEqual(
    lines(() => [{ field: "base_url", from: "a", to: "b" }]),
    ["~ changed providers.acme", "    base_url: a -> b"],
  );
});

for (const [title, change, verdict] of [
  ["is the stored one", { revision: 118, changed: false }, "The document equals the stored one."],
  ["says the same", { revision: 118, changed: true }, "The text differs, but its meaning is the same."],
] as const) {
  test(`a preview says of a document that it ${title}`, () => {
    const page = previewPage({ name: "default", differences: [], warnings: [], ...change }).map(textOfLine);
    assert.equal(page[2], verdict);
    assert.equal(page.at(-1), "No warnings.");
  });
}

test("a preview of the first document compares it with an empty one", () => {
  const change = {
    name: "team",
    revision: 0,
    changed: true,
    differences: [{ path: "", kind: "added" as const }],
    warnings: [],
  };
  const page = previewPage(change).map(textOfLine);
  assert.equal(page[0], "Preview: team against nothing stored yet; nothing is written yet.");
  assert.equal(page[3], "+ added   the whole document");
});

test("a refusal shows every problem with its place", () => {
  const page = refusalPage({
    message: "The document is refused: budgets[0]: unknown key (and 1 more).",
    details: [
      { source: "default", path: "budgets[0]", line: 7, column: 3, message: "unknown key" },
      { source: "default", path: "models", line: 9, column: 0, message: "\u001b[31mred" },
    ],
  });
  assert.deepEqual(page.map(textOfLine), [
    "Refused. Nothing was written.",
    "The document is refused: budgets[0]: unknown key (and 1 more).",
    "",
    "2 problems:",
    "! default 7:3  budgets[0]: unknown key",
    "! default 9  models: \\u001b[31mred",
  ]);
});

for (const details of [undefined, null, "text", { problems: [] }, [null, 1, {}, { message: 3 }]]) {
  test(`a refusal without a list of problems (${JSON.stringify(details)}) is shown by its message`, () => {
    assert.deepEqual(refusalPage({ message: "Refused.", details }).map(textOfLine), [
      "Refused. Nothing was written.",
      "Refused.",
    ]);
  });
}

test("a document has dim line numbers", () => {
  const page = documentPage(`${Array.from({ length: 10 }, (_, at) => `line ${at + 1}`).join("\n")}\n`);
  assert.equal(page.length, 10);
  assert.deepEqual(page[0]?.[0], { text: " 1  ", tone: "dim" });
  assert.deepEqual(page.map(textOfLine).slice(8), [" 9  line 9", "10  line 10"]);
});

test("an empty document is reported as empty, and an empty line is a line", () => {
  assert.deepEqual(documentPage("").map(textOfLine), ["The document is empty."]);
  assert.deepEqual(documentPage("\n\na").map(textOfLine), ["1  ", "2  ", "3  a"]);
});

test("controls of a document do not reach the screen", () => {
  assert.deepEqual(documentPage("a\u001b]52;c;x\u0007\r\n").map(textOfLine), ["1  a\\u001b]52;c;x\\u0007\\r"]);
});
