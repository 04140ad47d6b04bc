/** Documents with errors everywhere are refused quickly, since the compiling process serves requests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readDeployment } from "../../../../src/server/core/config/documents.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { references } from "./samples.ts";

/** A second if each unknown key is looked up; a minute if each is searched for among all others. */
const LIMIT_MS = 30_000;

test("a document with very many unknown keys is refused within seconds", () => {
  const text = Array.from({ length: 49_000 }, (_, at) => `b${at}: 1`).join("\n");
  const from = cpuMs();
  const { problems } = readDeployment({ name: "x", text }, references);
  assert.equal(problems.length, 101);
  assert.ok(cpuMs() - from < LIMIT_MS);
});
