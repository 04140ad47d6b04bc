import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { joinPath } from "../../../../src/server/core/catalog/index.ts";

const channel = (baseUrl: string, stripPathPrefix = "", pathPrefix = "") => ({ baseUrl, pathPrefix, stripPathPrefix });

const CHAT = "/v1/chat/completions";

const TABLE: readonly (readonly [what: string, channel: ReturnType<typeof channel>, incoming: string, path: string])[] =
  [
    ["a preset's root that ends in /v1", channel("https://h/v1", "/v1"), CHAT, "/v1/chat/completions"],
    [
      "a preset's root that ends in /v4",
      channel("https://h/api/paas/v4", "/v1"),
      CHAT,
      "/api/paas/v4/chat/completions",
    ],
    [
      "a preset's root that ends in /openai",
      channel("https://h/v1/openai", "/v1"),
      CHAT,
      "/v1/openai/chat/completions",
    ],
    ["a preset's root without a path", channel("https://h", "/v1"), CHAT, "/chat/completions"],
    ["a messages root without a path", channel("https://h"), "/v1/messages", "/v1/messages"],
    ["a messages root with a path", channel("https://h/anthropic"), "/v1/messages", "/anthropic/v1/messages"],
    ["a root with trailing slashes", channel("https://h/v1//", "/v1"), CHAT, "/v1/chat/completions"],
    ["an undeclared root that ends in /v1", channel("https://h/v1"), CHAT, "/v1/chat/completions"],
    ["an undeclared root that ends in /v1/", channel("https://h/v1/"), CHAT, "/v1/chat/completions"],
    ["an undeclared root that ends in /v1beta", channel("https://h/v1beta"), CHAT, "/v1beta/chat/completions"],
    ["an undeclared root without a version", channel("https://h/llm"), CHAT, "/llm/v1/chat/completions"],
    ["an undeclared root with a version inside", channel("https://h/v1/x"), CHAT, "/v1/x/v1/chat/completions"],
    ["a prefix between root and path", channel("https://h/a", "/v1", "/b"), CHAT, "/a/b/chat/completions"],
    ["a prefix that ends in a version", channel("https://h/a", "", "/v2/"), CHAT, "/a/v2/chat/completions"],
    ["a stripped prefix other than /v1", channel("https://h/v3", "/api"), "/api/v1/rerank", "/v3/rerank"],
    [
      "a stripped prefix that ends inside a segment",
      channel("https://h/x", "/v1"),
      "/v1beta/models",
      "/x/v1beta/models",
    ],
    ["a path that is stripped completely", channel("https://h/v1", "/v1"), "/v1", "/v1"],
    ["a path that is stripped completely, at a root without a path", channel("https://h", "/v1"), "/v1", "/"],
    ["a path without its slash", channel("https://h/x"), "models", "/x/models"],
    ["a path that looks like an authority", channel("https://h"), "//evil.example/v1", "/evil.example/v1"],
    ["a path that a URL parser takes for an authority", channel("https://h"), "/\\evil.example", "/evil.example"],
    ["an authority after the stripped prefix", channel("https://h", "/v1"), "/v1//evil.example", "/evil.example"],
    ["an encoded slash", channel("https://h/v1", "/v1"), "/v1/models/a%2Fb", "/v1/models/a%2Fb"],
    ["a dot segment", channel("https://h/v1", "/v1"), "/v1/./models", "/v1/./models"],
    ["a doubled slash inside", channel("https://h/v1", "/v1"), "/v1/models/a//b", "/v1/models/a//b"],
  ];

for (const [what, facts, incoming, path] of TABLE) {
  test(`${what}: ${facts.baseUrl} and ${incoming} join to ${path}`, () => {
    assert.equal(joinPath(facts, incoming), path);
  });
}

const segment = fc.stringMatching(/^[a-z0-9_.~%:-]{1,8}$/).filter((text) => !/^\.{1,2}$/.test(text));
const path = (maxLength: number) =>
  fc.array(segment, { maxLength }).map((parts) => parts.map((part) => `/${part}`).join(""));
const version = fc.constantFrom("", "/v1", "/v4", "/v1beta");
const slashes = fc.constantFrom("", "/", "//");

test("a joined URL has no double slash and no double version, and ends with the client's path", () => {
  const unversioned = path(3).filter((text) => !/\/v1(\/|$)/.test(text));
  const roots = fc.record({ rootPath: unversioned, end: version, slash: slashes, strip: fc.constantFrom("", "/v1") });
  fc.assert(
    fc.property(roots, unversioned, ({ rootPath, end, slash, strip }, rest) => {
      const joined = joinPath(channel(`https://h.example${rootPath}${end}${slash}`, strip), `/v1${rest}`);
      assert.ok(joined.startsWith("/"));
      assert.ok(!joined.includes("//"), joined);
      assert.ok(!/\/v\d+[a-z0-9]*\/v1(\/|$)/.test(joined.slice(rootPath.length)), joined);
      assert.ok(joined.startsWith(`${rootPath}${end}`), joined);
      assert.ok(joined.endsWith(rest), joined);
    }),
  );
});

test("no incoming path changes the host, whatever characters it has", () => {
  const character = fc.constantFrom("/", "\\", "@", ":", ".", "%", "v", "1", "evil.example", "[", " ");
  const incoming = fc.array(character, { maxLength: 12 }).map((parts) => parts.join(""));
  const root = fc.record({ rootPath: path(2), strip: fc.constantFrom("", "/v1", "/v") });
  fc.assert(
    fc.property(root, incoming, ({ rootPath, strip }, sent) => {
      const joined = joinPath(channel(`https://h.example${rootPath}`, strip), sent);
      assert.equal(new URL(joined, "https://h.example").host, "h.example", joined);
      assert.equal(new URL(`https://h.example${joined}`).host, "h.example", joined);
    }),
  );
});
