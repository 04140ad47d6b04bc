/** Texts of client messages in a session, and of headers and queries. */
import assert from "node:assert/strict";
import test from "node:test";
import { findRoute, headerTexts, queryTexts, readTexts } from "../../../../../src/server/core/dialects/index.ts";

const read = (path: string, event: unknown) => {
  const route = findRoute("UPGRADE", path);
  assert.ok(route !== undefined);
  const plain = Buffer.from(JSON.stringify(event));
  return readTexts(route, "compat", { plain, contentType: "application/json", isJson: false });
};

const REALTIME = "/v1/realtime";
const cases: readonly (readonly [what: string, path: string, event: unknown, texts: readonly string[]])[] = [
  [
    "a session's settings",
    REALTIME,
    {
      type: "session.update",
      session: { instructions: "a", tools: [{ type: "function", name: "f", description: "b" }] },
    },
    ["system a", "system b"],
  ],
  [
    "an item",
    REALTIME,
    {
      type: "conversation.item.create",
      previous_item_id: "item_1",
      item: { type: "message", role: "user", content: [{ type: "input_text", text: "a" }] },
    },
    ["user a"],
  ],
  [
    "the output of a call",
    REALTIME,
    { type: "conversation.item.create", item: { type: "function_call_output", call_id: "c", output: "a" } },
    ["tool_result a"],
  ],
  ["a response", REALTIME, { type: "response.create", response: { instructions: "a", input: [] } }, ["system a"]],
  [
    "a response over WebSocket",
    "/v1/responses",
    { type: "response.create", model: "m", instructions: "a", input: [{ role: "user", content: "b" }] },
    ["system a", "user b"],
  ],
  [
    "ids of items",
    REALTIME,
    { type: "conversation.item.truncate", item_id: "item_1", response_id: "4111 1111" },
    ["user 4111 1111"],
  ],
  [
    "sound that is none",
    REALTIME,
    { type: "input_audio_buffer.append", audio: "call 555 0100" },
    ["user call 555 0100"],
  ],
  ["an unknown event", REALTIME, { type: "other", more: { deep: "a" } }, ["user a"]],
];
for (const [what, path, event, texts] of cases) {
  test(what, () => {
    const found = read(path, event);
    assert.deepEqual(
      found.texts.map(({ kind, text }) => `${kind} ${text}`),
      texts,
    );
    const changed = texts.map(() => "a new text");
    assert.equal(
      read(path, JSON.parse(found.rewrite(changed).toString()))
        .texts.map(({ text }) => text)
        .join(),
      changed.join(),
    );
  });
}

test("audio is counted", () => {
  assert.deepEqual(read(REALTIME, { type: "input_audio_buffer.append", audio: "AAAA" }).uninspected, ["audio"]);
  const item = { role: "user", content: [{ type: "input_audio", audio: "AAAA", transcript: "a" }] };
  const { texts, uninspected } = read(REALTIME, { type: "conversation.item.create", item });
  assert.deepEqual([texts.map(({ text }) => text), uninspected], [["a"], ["audio"]]);
});

test("header values are texts, except credentials and connection headers", () => {
  const unread = ["Authorization", "X-Api-Key", "Cookie", "Connection", "Host", "Sec-WebSocket-Key", "Content-Length"];
  const latin = Buffer.from("é").toString("latin1");
  const headers = [...unread.flatMap((name) => [name, "a"]), "X-Title", latin, "x-other", "\u00ff", "X-Empty", ""];
  assert.deepEqual(
    headerTexts(headers).map(({ ref, text }) => [ref, text]),
    [
      ["header:x-title", "é"],
      ["header:x-title", latin],
      ["header:x-other", "\ufffd"],
      ["header:x-other", "\u00ff"],
    ],
  );
});

test("header escapes are decoded, and subprotocols are read except for the credential", () => {
  const cases: readonly (readonly [name: string, value: string, texts: readonly string[]])[] = [
    ["X-Title", "4%2C5", ["4%2C5", "4,5"]],
    ["X-Title", "4%25252C5", ["4%25252C5", "4%252C5", "4%2C5", "4,5"]],
    ["X-Title", "100%", ["100%"]],
    ["Traceparent", "%c3%a9", ["%c3%a9", "é", "\u00c3\u00a9"]],
    [
      "Sec-WebSocket-Protocol",
      "realtime, openai-insecure-api-key.gwk_1, note.4111%2D1",
      ["realtime", "note.4111%2D1", "note.4111-1"],
    ],
  ];
  for (const [name, value, texts] of cases) {
    assert.deepEqual(
      headerTexts([name, value]).map(({ text }) => text),
      texts,
      value,
    );
  }
});

test("query values are texts, in each way a provider may read them", () => {
  const cases: readonly (readonly [query: string, texts: readonly (readonly [ref: string, text: string])[]])[] = [
    ["", []],
    ["?", []],
    ["?g&h=", [["query:", "g"]]],
    ["?%65=f=g", [["query:e", "f=g"]]],
    [
      "?a=b+c%40d",
      [
        ["query:a", "b c@d"],
        ["query:a", "b+c@d"],
      ],
    ],
    [
      "?a=4%252C5",
      [
        ["query:a", "4%2C5"],
        ["query:a", "4,5"],
      ],
    ],
    [
      "?a=100%&b=%zz",
      [
        ["query:a", "100%"],
        ["query:b", "%zz"],
      ],
    ],
    [
      "?a=%C3%A9",
      [
        ["query:a", "é"],
        ["query:a", "\u00c3\u00a9"],
      ],
    ],
    [
      "?a=%E9",
      [
        ["query:a", "\ufffd"],
        ["query:a", "é"],
      ],
    ],
  ];
  for (const [query, texts] of cases) {
    assert.deepEqual(
      queryTexts(query).map(({ ref, text }) => [ref, text]),
      texts,
      query,
    );
  }
});
