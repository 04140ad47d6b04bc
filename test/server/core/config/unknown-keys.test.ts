/** Documents that are wrong all over: refused as fast as they are read, since whoever compiles one serves requests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readDeployment } from "../../../../src/server/core/config/documents.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { references } from "./samples.ts";

/** A second where each unknown key is looked up; a minute where each is searched for among all the others. */
const LIMIT_MS = 30_000;

test("a document with very many unknown keys is refused within seconds", () => {
  const text = Array.from({ length: 49_000 }, (_, at) => `b${at}: 1`).join("\n");
  const from = cpuMs();
  const { problems } = readDeployment({ name: "x", text }, references);
  assert.equal(problems.length, 101);
  assert.ok(cpuMs() - from < LIMIT_MS);
});
