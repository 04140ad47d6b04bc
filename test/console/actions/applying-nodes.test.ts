/** Effect lines of dialogs while members are silent: a change reaches those later. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { applyingNodes } from "../../../src/console/actions/applying-nodes.ts";
import { mintDialog, revokeDialog, rotateDialog } from "../../../src/console/actions/key-dialogs.ts";
import { suspendAgainDialog } from "../../../src/console/actions/resuspend-dialog.ts";
import { putSecretDialog, secretsRemovalDialog } from "../../../src/console/actions/secret-dialogs.ts";
import { deleteSourceDialog, putDocumentDialog, rollbackDialog } from "../../../src/console/actions/source-dialogs.ts";
import { liftDialog, suspendDialog } from "../../../src/console/actions/suspension-dialogs.ts";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import { contextOf, dataOf, linesOf, member, suspension } from "../views/traffic-fixtures.ts";

const silent = (id: string) => member(id, { state: "silent", last_contact_ms: null });

const CASES: readonly (readonly [members: readonly ReturnType<typeof member>[], text: string])[] = [
  [[], "all nodes"],
  [[member("n1")], "the only node"],
  [[member("n1"), member("n2"), member("n3", { state: "snapshot" })], "all 3 nodes"],
  [[member("n1"), member("n2"), silent("n3")], "2 of 3 nodes (n3 follows once it is reachable)"],
  [[member("n1"), member("n2"), member("n3", { state: "forgot" })], "2 of 3 nodes (n3 follows once it is reachable)"],
  [[member("n1"), silent("n2"), silent("n3")], "1 of 3 nodes (n2 and n3 follow once they are reachable)"],
  [
    [member("n1"), ...["n2", "n3", "n4"].map(silent), member("n5"), member("n6"), member("n7")],
    "4 of 7 nodes (3 others follow once they are reachable)",
  ],
];

test("the nodes that apply a change are counted without those that are silent", () => {
  for (const [members, text] of CASES) assert.equal(applyingNodes(dataOf({ list_cluster_members: members })), text);
});

test("every dialog that says where its change applies names the silent node", () => {
  const record = suspension("one", { kind: "provider" });
  const context = contextOf({
    list_cluster_members: [member("n1"), member("n2"), silent("n3")],
    list_suspensions: [record],
  });
  const dialogs: readonly (readonly [name: string, dialog: Dialog])[] = [
    ["suspend", suspendDialog({ kind: "provider", names: ["one"] }, context)],
    ["suspend again", suspendAgainDialog([record])],
    ["lift", liftDialog({ kind: "provider", names: ["one"] }, context)],
    ["mint", mintDialog(context)],
    ["revoke", revokeDialog(["a"])],
    ["revoke several", revokeDialog(["a", "b"])],
    ["rotate", rotateDialog("a")],
    ["put secret", putSecretDialog(undefined)],
    ["replace secret", putSecretDialog("A")],
    ["delete secrets", secretsRemovalDialog(["A"])],
    ["put document", putDocumentDialog("team", "team.yaml", context)],
    ["delete source", deleteSourceDialog("team", context)],
    ["roll back", rollbackDialog("team", 1, context)],
  ];
  for (const [name, dialog] of dialogs) {
    const text = linesOf(dialog, context).join("\n");
    assert.match(text, /2 of 3 nodes \(n3 follows once it is reachable\)/, `${name}: ${text}`);
  }
});
