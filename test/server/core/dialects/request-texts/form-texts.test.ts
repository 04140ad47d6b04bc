/** Texts of forms and of bodies that are neither form nor JSON, including hostile ones. */
import assert from "node:assert/strict";
import test from "node:test";
import { findRoute, readTexts, scanObject } from "../../../../../src/server/core/dialects/index.ts";
import { cpuMs } from "../../../../support/cpu-time.ts";

const read = (path: string, plain: Buffer, contentType: string) => {
  const route = findRoute("POST", path);
  assert.ok(route !== undefined);
  return readTexts(route, "compat", { plain, contentType, isJson: scanObject(plain, [], true).kind === "object" });
};

const MULTIPART = "multipart/form-data; boundary=B";
const EDITS = "/v1/images/edits";
const part = (headers: string, value: string): string =>
  `--B\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${value}\r\n`;
const form = (...parts: readonly string[]): Buffer => Buffer.from(`${parts.join("")}--B--\r\n`);

test("form fields are texts, files are counted, and every other byte stays", () => {
  const image = part('name="image"; filename="a.png"\r\nContent-Type: image/png', "\u00ff\r\n--x");
  const json = '{"instructions": "secret 2", "n":1.0}';
  const parts = [
    part('name="model"', "m"),
    part('name="prompt"', "a sécret 1"),
    image,
    part('name="session"\r\nContent-Type: application/json', json),
    part('name="file"; filename="b.jsonl"', "c"),
    part('name="style"; filename=""', "d"),
  ];
  const { texts, uninspected, problem, rewrite } = read(EDITS, form(...parts), MULTIPART);
  assert.equal(problem, undefined);
  assert.deepEqual(uninspected, ["image", "file"]);
  assert.deepEqual(
    texts.map(({ kind, text }) => `${kind} ${text}`),
    ["user a sécret 1", "user secret 2", "user d"],
  );
  const written = form(...parts)
    .toString()
    .replace("a sécret 1", "é1")
    .replace("secret 2", 'é\\"2');
  assert.equal(rewrite(["é1", 'é"2', undefined]).toString(), written);
});

test("values of a URL-encoded body are texts", () => {
  const plain = Buffer.from("model=m&prompt=a+b%40c&flag&x=%20");
  const { texts, rewrite } = read("/v1/videos", plain, "application/x-www-form-urlencoded; charset=utf-8");
  assert.deepEqual(
    texts.map(({ text }) => text),
    ["a b@c", "flag", " "],
  );
  assert.equal(rewrite(["<d & e>"]).toString(), "model=m&prompt=%3Cd%20%26%20e%3E&flag&x=%20");
});

test("JSON labeled as a form is read as both and written as JSON", () => {
  const plain = Buffer.from('{"prompt":"a%40b"}');
  const { texts, rewrite } = read("/v1/completions", plain, "application/x-www-form-urlencoded");
  assert.deepEqual(
    texts.map(({ text, isReadOnly }) => [text, isReadOnly]),
    [
      ["a%40b", false],
      ['{"prompt":"a@b"}', true],
    ],
  );
  assert.equal(rewrite(["c", "d"]).toString(), '{"prompt":"c"}');
});

test("plain text is one text, and declared media or bytes are counted", () => {
  const text = read("/v1/realtime/calls", Buffer.from("v=0\r\ns=-"), "application/sdp");
  assert.equal(text.texts[0]?.text, "v=0\r\ns=-");
  assert.equal(text.rewrite(["v=1"]).toString(), "v=1");
  assert.deepEqual(read("/v1/other", Buffer.from([0xff]), "audio/wav").uninspected, ["audio"]);
  assert.deepEqual(read("/v1/other", Buffer.from([0xff]), "application/octet-stream").uninspected, ["file"]);
  assert.deepEqual(read("/v1/other", Buffer.alloc(0), "").texts, []);
});

const unread: Readonly<Record<string, readonly [body: Buffer, contentType: string]>> = {
  "a form that is cut off": [Buffer.from(part('name="prompt"', "a")), MULTIPART],
  "a form without a boundary": [form(part('name="prompt"', "a")), "multipart/form-data"],
  "a field in another charset": [
    form(part('name="prompt"\r\nContent-Type: text/plain; charset=utf-16', "a")),
    MULTIPART,
  ],
  "a field in base64": [form(part('name="prompt"\r\nContent-Transfer-Encoding: base64', "YQ==")), MULTIPART],
  "a field of another type": [form(part('name="prompt"\r\nContent-Type: application/xml', "a")), MULTIPART],
  "a field that contains the boundary": [form(part('name="prompt"', "4111111111111111--B\r\nx")), MULTIPART],
  "a body of an unknown type": [Buffer.from("a"), "application/cbor"],
  "a body without a type": [Buffer.from("a"), ""],
  "text that is not UTF-8": [Buffer.from([0x61, 0xff]), "text/plain"],
  "JSON with too many texts": [Buffer.from(`{"a":[${'"b",'.repeat(20_000)}"b"]}`), "application/json"],
  "JSON with too many values": [Buffer.from(`{"a":[${"[],".repeat(200_000)}1]}`), "application/json"],
  "lines of JSON": [Buffer.from('{"a":1}\n{"a":2}'), "application/jsonl"],
};
for (const [what, [plain, contentType]] of Object.entries(unread)) {
  test(`${what} is a problem`, () => {
    const { texts, problem, rewrite } = read(EDITS, plain, contentType);
    assert.notEqual(problem, undefined);
    assert.deepEqual(texts, []);
    assert.equal(rewrite([]), plain);
  });
}

/** CPU time in milliseconds, the minimum of several runs. */
function timeOf(body: string, contentType = "application/json"): number {
  const plain = Buffer.from(body);
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const start = cpuMs();
    const { texts, rewrite } = read("/v1/chat/completions", plain, contentType);
    rewrite(texts.map(() => "x"));
    least = Math.min(least, cpuMs() - start);
  }
  return least;
}

const content = (text: string): string => `{"messages":[{"role":"user","content":${text}}]}`;
const hostile: Readonly<Record<string, (size: number) => string>> = {
  "of backslashes": (size) => content(`"${"\\\\".repeat(size)}"`),
  "of escaped quotes": (size) => content(`"${'\\"'.repeat(size)}"`),
  "of empty lists": (size) => content(`[${"[],".repeat(size)}[]]`),
  "of members with the same name": (size) => content(`[{${'"a":"b",'.repeat(size)}"a":"b"}]`),
  "of top-level members": (size) => `{${'"messages":[],"a":"b",'.repeat(size)}"a":"b"}`,
  "of deep lists": (size) => content(`[${`${"[".repeat(500)}${"]".repeat(500)},`.repeat(size / 500)}1]`),
  "of a data URL's parameters": (size) =>
    content(`[{"type":"image_url","image_url":{"url":"data:${";".repeat(size)}"}}]`),
  "of arguments": (size) =>
    `{"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"${"[".repeat(size)}"}}]}]}`,
};
for (const [what, build] of Object.entries(hostile)) {
  test(`a body ${what} is read in linear time`, () => {
    const small = timeOf(build(5_000));
    const large = timeOf(build(40_000));
    // Eight times as much; a quadratic reader would take sixty-four times.
    assert.ok(large < 30 * small + 20, `${small} ms, then ${large} ms`);
  });
}

test("UTF-16 text is read and written in UTF-16", () => {
  const le = Buffer.from("my secret word", "utf16le");
  const be = Buffer.from(le).swap16();
  const marked = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("日本 secret", "utf16le")]);
  const unmarked = Buffer.from("日本 secret".replace(" ", "本"), "utf16le");
  const bodies: readonly (readonly [body: Buffer, type: string])[] = [
    [le, "text/plain"],
    [be, "text/plain"],
    [marked, "text/plain"],
    [Buffer.from(marked).swap16(), "text/plain; charset=utf-8"],
    [unmarked, "text/plain; charset=utf-16le"],
    [Buffer.concat([le, Buffer.from([0x20])]), "application/sdp"],
  ];
  for (const [body, type] of bodies) {
    const { texts, problem, rewrite } = read("/v1/realtime/calls", body, type);
    assert.equal(problem, undefined);
    assert.ok(texts[0]?.text.includes("secret"), type);
    const made = rewrite([texts[0]?.text.replace("secret", "[x]")]);
    assert.equal(
      made.includes(Buffer.from("secret", "utf16le")) || made.includes(Buffer.from("secret", "utf16le").swap16()),
      false,
    );
    assert.ok(read("/v1/realtime/calls", made, type).texts[0]?.text.includes("[x]"), type);
  }
  const fields = Buffer.concat([
    Buffer.from('--X\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n'),
    le,
    Buffer.from("\r\n--X--\r\n"),
  ]);
  const field = read("/v1/videos", fields, "multipart/form-data; boundary=X");
  assert.equal(field.texts[0]?.text, "my secret word");
  assert.ok(field.rewrite(["my [x] word"]).includes(Buffer.from("my [x] word", "utf16le")));
});

test("text files are read in UTF-16 and unknown encodings", () => {
  const file = (bytes: Buffer, type = "text/plain") =>
    Buffer.from(
      JSON.stringify({
        messages: [
          {
            role: "user",
            content: [{ type: "file", file: { file_data: `data:${type};base64,${bytes.toString("base64")}` } }],
          },
        ],
      }),
    );
  for (const bytes of [
    Buffer.from("my secret", "utf16le"),
    Buffer.from("my secret", "utf16le").swap16(),
    Buffer.concat([Buffer.from("my secret"), Buffer.from([0xff])]),
  ]) {
    const found = read("/v1/chat/completions", file(bytes), "application/json");
    assert.ok(found.texts[0]?.text.includes("my secret"));
    const made = read("/v1/chat/completions", found.rewrite(["my [x]"]), "application/json");
    assert.equal(made.texts[0]?.text, "my [x]");
  }
});
