// tier: test
/**
 * The leader of three nodes dies during a confirmed action: the console reports the outcome, and acts once. Source:
 * operator console reference, B7.
 */
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { recordsIn, type SeenRecord } from "../admin/support/trail.ts";
import { until } from "../cluster/support/until.ts";
import {
  areSuspended,
  FAILING,
  HEALTHY,
  type IncidentCluster,
  kill,
  startIncidentCluster,
} from "./incident/incident-cluster.ts";
import { passThrough } from "./incident/pass-through.ts";
import { insist, isFailing, openOn } from "./incident/steps.ts";

describe("death of a leader during a console session", { skip: ptySkip }, async () => {
  const owner = suiteOwner();
  const cluster = await startIncidentCluster(owner);
  afterEach(() => cluster.whole());

  test("a leader that dies during a confirmation leaves an unknown outcome, and y again applies the change once", async (t) => {
    const leader = await cluster.leader();
    const others = cluster.members.filter((member) => member !== leader);
    const passing = await Promise.all([leader, ...others].map(({ endpointPort }) => passThrough(t, endpointPort)));
    const puts = () => passing.flatMap(({ requests }) => requests.filter(({ method }) => method === "PUT"));
    const console = await openOn(
      t,
      passing.map(({ url }) => url),
    );
    await console.press(":");
    console.type("suspensions\r");
    await console.press("n");
    await console.shows("New suspension");
    console.type(HEALTHY);
    await console.press("enter");
    await console.shows(`PUT /admin/v1/suspensions/provider:${HEALTHY}`);
    // It accepts the request and does nothing about it.
    leader.node.program.signal("SIGSTOP");
    await console.press("y");
    await until("the request is under way", () => puts().length === 1);
    await kill(leader);
    await console.shows(/FAILED .*the change may have been made anyway: y sends it again/s);
    await cluster.leader(others);
    await console.shows(/node n\d .*live/);
    await insist(console, "y", /suspended for 30m \(index \d+ on [23]\/3 nodes\)/);
    await areSuspended(others, `provider:${HEALTHY}`);
    await cluster.restart(leader);
    await areSuspended(cluster.members, `provider:${HEALTHY}`);
    const keys = puts().map(({ headers }) => headers.get("idempotency-key"));
    assert.ok(keys.length > 1 && keys[0] !== undefined && new Set(keys).size === 1, keys.join());
    assert.equal(timesDone(cluster, HEALTHY), 1);
  });

  test("a leader that dies behind the queried node leaves the change done or reported as unknown, never done twice", async (t) => {
    const leader = await cluster.leader();
    const others = cluster.members.filter((member) => member !== leader);
    const console = await openOn(
      t,
      others.map(({ endpointUrl }) => endpointUrl),
    );
    await isFailing(cluster, console);
    await console.press("s");
    await console.shows(`PUT /admin/v1/suspensions/provider:${FAILING}`);
    leader.node.program.signal("SIGKILL");
    await console.press("enter", "y");
    await insist(console, "y", /acme-chat suspended for 30m \(index \d+ on [23]\/3 nodes\)/);
    await areSuspended(others, `provider:${FAILING}`);
    await cluster.restart(leader);
    await console.shows(/members 3\/3 reachable │/);
  });
});

/** Returns how often the nodes have recorded the suspension, over all their output. */
function timesDone({ members }: IncidentCluster, name: string): number {
  const records = members.flatMap(({ node }) => recordsIn(node.output()));
  const isSo = ({ data }: SeenRecord): boolean =>
    data["action"] === "put_suspension" && data["outcome"] === "done" && JSON.stringify(data).includes(name);
  return records.filter(isSo).length;
}
