import assert from "node:assert/strict";
import test from "node:test";
import { findRoute, isReadAsOneRoute, routeExamples } from "../../../../../src/server/core/dialects/index.ts";

test("every route, as its clients write it, is read in one way", () => {
  for (const { method, path } of routeExamples()) assert.ok(isReadAsOneRoute(method, path), `${method} ${path}`);
  for (const path of ["/v1/models/Qwen%2FQwen3", "/v1/models/ft:gpt-4o:Acme::B1", "/v1/files/file-AbC/content"]) {
    assert.ok(isReadAsOneRoute("GET", path), path);
  }
});

const disguises: readonly (readonly [string, (path: string) => string])[] = [
  ["two slashes", (path) => path.replace("/v1/", "/v1//")],
  ["a slash at the end", (path) => `${path}/`],
  ["an encoded letter", (path) => path.replace(/[a-z](?=[^/]*$)/, (it) => `%${it.charCodeAt(0).toString(16)}`)],
  ["an encoded slash", (path) => path.replace("/v1/", "/v1%2F")],
  ["a doubly encoded letter", (path) => path.replace(/[a-z](?=[^/]*$)/, (it) => `%25${it.charCodeAt(0).toString(16)}`)],
  ["a capital", (path) => path.replace(/[a-z](?=[^/]*$)/, (it) => it.toUpperCase())],
  ["a parameter of a segment", (path) => `${path};x=1`],
];

for (const [what, disguise] of disguises) {
  test(`a path with ${what} is the same route to us as to a provider that normalizes it`, () => {
    for (const { method, path } of routeExamples().filter(({ path: it }) => !it.includes("example"))) {
      const written = disguise(path);
      const ours = findRoute(method, written);
      const isSafe = ours === undefined || ours === findRoute(method, path) || !isReadAsOneRoute(method, written);
      assert.ok(isSafe, `${method} ${written}`);
    }
  });
}

test("the provider's administration and echo routes are unreachable", () => {
  for (const path of ["/v1/organization", "/v1/organization/users", "/v1/organizations/api_keys"]) {
    assert.equal(findRoute("GET", path), undefined, path);
  }
  assert.ok(!isReadAsOneRoute("GET", "/v1//organization/users"));
  for (const method of ["TRACE", "CONNECT", "PROPFIND"]) assert.equal(findRoute(method, "/v1/anything"), undefined);
});
