import assert from "node:assert/strict";
import test from "node:test";
import { auditHeadsView } from "../../../src/console/views/audit-heads.ts";
import { budgetsView } from "../../../src/console/views/budgets.ts";
import { keysView } from "../../../src/console/views/keys.ts";
import { profilesView } from "../../../src/console/views/profiles.ts";
import { secretsView } from "../../../src/console/views/secrets.ts";
import { planStatement } from "../../../src/server/admin/query/bind.ts";
import { bodyOf, contextOf } from "./keys-fixture.ts";

const STATEMENTS = [
  [keysView, "keys"],
  [profilesView, "profiles"],
  [budgetsView, "budgets"],
  [auditHeadsView, "audit_heads"],
  [secretsView, "secrets"],
] as const;

test("the statement that a view opens in the workbench is one that the gateway takes, of the view's own rows", () => {
  for (const [view, table] of STATEMENTS) {
    const sql = bodyOf(view).sql?.(contextOf({})) ?? "";
    assert.doesNotThrow(() => planStatement(sql, [], [table]), `${view.id}: ${sql}`);
  }
});
