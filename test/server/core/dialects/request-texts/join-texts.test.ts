/** Texts that are assembled later are inspected across their boundary. */
import assert from "node:assert/strict";
import test from "node:test";
import { findRoute, readTexts } from "../../../../../src/server/core/dialects/index.ts";

const read = (path: string, text: string) => {
  const route = findRoute("POST", path);
  assert.ok(route !== undefined);
  return readTexts(route, "compat", { plain: Buffer.from(text), contentType: "application/json", isJson: true });
};

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";

const messageOf = (role: string, ...texts: readonly unknown[]) => ({
  role,
  content: texts.map((text) => (typeof text === "string" ? { type: "text", text } : text)),
});
const long = (end: string): string => "a ".repeat(400) + end;

const SEAMS: readonly (readonly [what: string, path: string, body: unknown, seams: readonly string[]])[] = [
  ["two texts of the assistant", MESSAGES, { messages: [messageOf("assistant", "SEC", "RET")] }, ["SECRET"]],
  [
    "texts with thinking and calls between, and messages of one role in a row",
    MESSAGES,
    {
      messages: [
        messageOf(
          "assistant",
          { type: "thinking", thinking: "1 SEC" },
          "2 SEC",
          { type: "thinking", thinking: "RET 3" },
          "RE",
        ),
        { role: "assistant", content: "T 4" },
        { role: "user", content: "T 5" },
      ],
    },
    ["1 SECRET 3", "2 SECRET 4"],
  ],
  ["three texts of a user", CHAT, { messages: [messageOf("user", "S", "ECRE", "T")] }, ["SECRET"]],
  [
    "blocks of the system",
    MESSAGES,
    {
      system: [
        { type: "text", text: "SEC" },
        { type: "text", text: "RET" },
      ],
    },
    ["SECRET"],
  ],
  [
    "blocks of a result",
    MESSAGES,
    {
      messages: [
        messageOf("user", { type: "tool_result", tool_use_id: "t", content: messageOf("", "SEC", "RET").content }),
      ],
    },
    ["SECRET"],
  ],
  [
    "summaries of reasoning",
    RESPONSES,
    {
      input: [
        {
          type: "reasoning",
          summary: [
            { type: "summary_text", text: "SEC" },
            { type: "summary_text", text: "RET" },
          ],
        },
      ],
    },
    ["SECRET"],
  ],
  [
    "only the ends of long texts",
    CHAT,
    { messages: [messageOf("user", long("SEC"), `RET${long("")}`)] },
    [`${"a ".repeat(127)}a SECRET${"a ".repeat(126)}a`.slice(1)],
  ],
  ["texts separated by a line break", CHAT, { messages: [messageOf("user", "SEC\n", "RET")] }, []],
  [
    "turns of two roles, and arguments",
    CHAT,
    { messages: [messageOf("user", "SEC"), messageOf("assistant", "RET")] },
    [],
  ],
];

for (const [what, path, body, seams] of SEAMS) {
  test(`assembled text is inspected once more: ${what}`, () => {
    const found = read(path, JSON.stringify(body));
    const shownSeams = found.seams.map(({ text }) => text);
    if (what.startsWith("only the ends")) assert.ok(shownSeams.length === 1 && shownSeams[0]?.includes("SECRET"));
    else assert.deepEqual(shownSeams, seams);
    const changes = [...found.texts, ...found.seams].map(({ text }) => text.replace("SECRET", "[x]"));
    const made = found.rewrite(changes).toString();
    const again = read(path, made);
    assert.equal(again.problem, undefined);
    assert.ok(!again.seams.some(({ text }) => text.includes("SECRET")), made);
    assert.equal(again.texts.length, found.texts.length);
    assert.equal(made.split("[x]").length > 1, seams.length > 0);
  });
}

test("of duplicate members the last is assembled", () => {
  const found = read(CHAT, '{"messages":[{"role":"user","content":[{"text":"SEC"},{"text":"other","text":"RET"}]}]}');
  assert.deepEqual(
    [found.texts.map(({ text }) => text), found.seams.map(({ text }) => text)],
    [["SEC", "other", "RET"], ["SECRET"]],
  );
});

test("findings inside each of two texts change these alone", () => {
  const body = (first: string, second: string) => JSON.stringify({ messages: [messageOf("user", first, second)] });
  const found = read(CHAT, body("a SECRET b", "c SECRET d"));
  const all = [...found.texts, ...found.seams];
  const made = found.rewrite(all.map(({ text }) => text.replaceAll("SECRET", "[x]")));
  assert.equal(made.toString(), body("a [x] b", "c [x] d"));
  const mixed = read(CHAT, body("a SECRET SEC", "RET c SECRET d"));
  const both = [...mixed.texts, ...mixed.seams];
  const texts = read(CHAT, mixed.rewrite(both.map(({ text }) => text.replaceAll("SECRET", "[x]"))).toString()).texts;
  assert.equal(texts.map(({ text }) => text).join(""), "a [x] [x] c [x] d");
});

test("findings inside a text and across its end are both rewritten", () => {
  const body = JSON.stringify({ messages: [messageOf("user", "SECRET and SEC", "RET and SECRET")] });
  const found = read(CHAT, body);
  const made = found.rewrite([...found.texts, ...found.seams].map(({ text }) => text.replaceAll("SECRET", "[x]")));
  assert.ok(!read(CHAT, made.toString()).seams.some(({ text }) => text.includes("SEC")), made.toString());
});

test("the time to read a body grows as its number of texts does", () => {
  const bodyOf = (count: number): string =>
    JSON.stringify({
      messages: [messageOf("user", ...Array.from({ length: count }, (_, at) => `${at} ${"word ".repeat(12)}`))],
    });
  const timeOf = (body: string): number => {
    const startedAt = performance.now();
    assert.equal(read(CHAT, body).seams.length, 1);
    return performance.now() - startedAt;
  };
  const [few, many] = [bodyOf(3_000), bodyOf(18_000)];
  let [fewMs, manyMs, ratio] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // Another process only ever adds time, so the shortest reading of each counts, and a few readings suffice when idle.
  for (let round = 0; round < 40 && ratio >= 18; round += 1) {
    fewMs = Math.min(fewMs, timeOf(few));
    manyMs = Math.min(manyMs, timeOf(many));
    if (round > 0) ratio = manyMs / fewMs;
  }
  // Six times the texts take six times as long; copying all earlier text for each took more than thirty times as long.
  assert.ok(ratio < 18, `${ratio}`);
});
