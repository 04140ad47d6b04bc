import assert from "node:assert/strict";
import test from "node:test";
import { attentionOf } from "../../../src/console/views/attention.ts";
import { contextOf, member } from "./traffic-fixtures.ts";

const attention = (members: readonly ReturnType<typeof member>[]): readonly string[] =>
  attentionOf(contextOf({ list_cluster_members: members })).map(({ what, name, text }) => `${what} ${name}: ${text}`);

test("a silent member of which only the leader knows for how long names the leader", () => {
  const silentTo = (node: string) => member("n3", { state: "silent", last_contact_ms: null, node });
  const text = (leader: string | undefined, node: string) => {
    const other = (id: string) => member(id, { role: id === leader ? "leader" : "follower", node });
    return attention([other("n1"), other("n2"), silentTo(node)])[0];
  };
  const left = "; 2 of 3 voters reachable, quorum 2";
  assert.equal(
    text("n1", "n2"),
    `MEMBER n3: silent${left}; n2 does not know for how long: only the leader n1 measures it`,
  );
  assert.equal(text("n1", "n1"), `MEMBER n3: silent since before n1 led${left}`);
  assert.equal(
    text(undefined, "n2"),
    `MEMBER n3: silent${left}; n2 does not know for how long: only a leader measures it`,
  );
  const silentLeader = member("n1", { role: "leader", state: "silent", last_contact_ms: null, node: "n2" });
  assert.match(
    attention([silentLeader, member("n2"), member("n3")])[0] ?? "",
    /n2 does not know for how long: only a leader/,
  );
});
