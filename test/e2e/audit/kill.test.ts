// tier: test
/** Audit trail of a process killed at random moments. `kill-rounds.ts` and `kill-steps.ts` run longer. */

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { quickFolder } from "../../server/audit/support/folder.ts";
import { killRounds } from "./support/kill-rounds.ts";

test("after twenty kills at random moments every chain verifies against the witnessed heads", async (context) => {
  const seed = Date.now() % 1_000_000;
  context.diagnostic(`seed ${seed}`);
  const folder = quickFolder("audit-kill-");
  context.after(() => rmSync(folder, { recursive: true }));
  const { report, heads } = await killRounds({ folder, rounds: 20, seed, say: () => undefined });
  assert.ok(heads > 0 && report.records > 100);
});
