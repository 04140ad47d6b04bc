import assert from "node:assert/strict";
import { test } from "node:test";
import { ARCHIVE_TYPE, bodyShapeOf } from "../../src/admin-api/index.ts";

const JSON_BODY = { contentType: "application/json", isStream: false };
const DOCUMENT = { contentType: "application/yaml", isStream: false };

const SHAPES: readonly (readonly [method: string, path: string, shape: object])[] = [
  ["POST", "/admin/v1/keys", JSON_BODY],
  ["PUT", "/admin/v1/suspensions/provider:acme", JSON_BODY],
  ["PUT", "/admin/v1/sources/default", DOCUMENT],
  ["PUT", "/admin/v1/sources/default?dry_run=true", DOCUMENT],
  ["POST", "/admin/v1/sources/default/rollback", JSON_BODY],
  ["PUT", "/admin/v1/sources/default/more", JSON_BODY],
  ["POST", "/admin/v1/snapshot", { contentType: ARCHIVE_TYPE, isStream: true }],
  ["DELETE", "/admin/v1/keys/a", JSON_BODY],
  ["POST", "/admin/v1/what-a-later-version-has", JSON_BODY],
];

for (const [method, path, shape] of SHAPES) {
  test(`a body of ${method} ${path} is sent as its operation expects`, () => {
    assert.deepEqual(bodyShapeOf(method, path), shape);
  });
}
