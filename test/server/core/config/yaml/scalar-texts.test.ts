import assert from "node:assert/strict";
import test from "node:test";
import { type References, readDeployment } from "../../../../../src/server/core/config/index.ts";

const none: References = {
  env: () => undefined,
  secret: () => ({ kind: "problem", message: "none" }),
  file: () => ({ kind: "problem", message: "none" }),
};

test("a bare number where a text is expected becomes its written text", () => {
  const text = `providers:
  - name: 007
    dialect: compat
    base_url: http://127.0.0.1:1/v1
    models: [1.0, 0x10]
    retry: { attempts: 2, when: [connect, 5xx, 429] }
`;
  const { document, problems } = readDeployment({ name: "f", text }, none);
  assert.deepEqual(problems, []);
  const [provider] = document?.providers ?? [];
  assert.equal(provider?.name, "007");
  assert.deepEqual(provider.models, ["1.0", "0x10"]);
  assert.deepEqual(provider.retry?.when, ["connect", "5xx", "429"]);
  assert.equal(provider.retry.attempts, 2);
});
