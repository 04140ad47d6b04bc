/**
 * An incident from its first sign to its end, on real nodes and in a real terminal: a provider fails, the console's
 * node dies or hangs, an answer is lost, and a member is lost for good. Source: operator console reference, B7.
 */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { afterEach, describe, test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { until } from "../cluster/support/until.ts";
import type { Owner } from "../support/wait.ts";
import {
  areSuspended,
  backendOf,
  type ConsoleUnderTest,
  FAILING,
  kill,
  type Member,
  SLOW_MS,
  startIncidentCluster,
  statusOf,
} from "./incident/incident-cluster.ts";
import { passThrough } from "./incident/pass-through.ts";
import { HEALTH, insist, isFailing, openOn } from "./incident/steps.ts";

const FIRST_ROW = /^│>(.*)│$/m;

describe("incident on three nodes", { skip: ptySkip }, async () => {
  const owner = suiteOwner();
  const cluster = await startIncidentCluster(owner);
  afterEach(() => cluster.whole());
  const attached = (to: Owner, ...members: readonly Member[]): Promise<ConsoleUnderTest> =>
    openOn(
      to,
      (members.length === 0 ? cluster.members : members).map(({ endpointUrl }) => endpointUrl),
    );

  test("three keys from any view suspend the failing provider on every node, and two keys lift it", async (t) => {
    const console = await attached(t);
    await isFailing(cluster, console);
    assert.match(console.row(HEALTH), /providers 1 ok 1 FAIL/);
    // Until each node has sent it a request, the row begins with the nodes that have, and its end is cut off.
    assert.match(FIRST_ROW.exec(console.screen())?.[1] ?? "", /^! FAIL +provider +acme-chat .*fail over to ac.*\[s\]/);

    console.type("9");
    await console.press("esc");
    await console.press("2", "s", "enter", "y");
    await console.shows(/provider:acme-chat suspended for 30m \(index \d+ on 3\/3 nodes\)/);
    await areSuspended(cluster.members, `provider:${FAILING}`);
    for (const member of cluster.members) assert.equal((await backendOf(member, FAILING)).state, "suspended");
    await console.shows(/^│>acme-chat .*~SUSPENDED.* (29m|30m)/m);
    assert.match(console.row(HEALTH), /providers 1 ok 1 SUSP/);

    await console.press("e");
    await console.shows(/Errors/);
    await console.shows(/ 503 +5xx .* 1 +acme-alt/);
    await console.press("esc");
    await console.shows(/^│>acme-chat/m);
    await console.press("u", "y");
    await console.shows(/takes traffic again \(index \d+ on 3\/3 nodes\)/);
    await areSuspended(cluster.members);
  });

  test("on the overview two keys suspend the worst provider, and two keys lift it again", async (t) => {
    const console = await attached(t);
    await isFailing(cluster, console);
    await console.press("s", "enter", "y");
    await console.shows(/provider:acme-chat suspended for 30m \(index \d+ on 3\/3 nodes\)/);
    await areSuspended(cluster.members, `provider:${FAILING}`);
    await console.shows(/^│>~ SUSP +provider +acme-chat .*lifts in (29m|30m).*\[u\] lift/m);
    await console.press("u", "y");
    await console.shows(/takes traffic again \(index \d+ on 3\/3 nodes\)/);
    await areSuspended(cluster.members);
  });

  test("an acknowledged alert is folded for every operator and after a restart, until the alert ends or the acknowledgement is lifted", async (t) => {
    const [first, second] = cluster.members;
    assert.ok(first && second);
    const console = await attached(t);
    await isFailing(cluster, console);
    // The key is offered once the acknowledgements are loaded.
    await console.shows(/ a acknowledge/);
    console.type("a");
    await console.shows(/Acknowledge provider acme-chat[\s\S]*Reason/);
    console.type("the vendor knows");
    await console.press("enter", "y");
    await console.shows(/provider acme-chat acknowledged for 4h \(index \d+ on 3\/3 nodes\)/);
    await console.shows(/^│.\. ACKED +1 acknowledged +FAIL acme-chat/m);
    assert.ok(!console.screen().includes("! FAIL"), console.screen());
    const named = { name: `provider:${FAILING}` } as const;
    const facts = ({ node }: Member) =>
      until("it is known", async () => {
        const { items } = await node.client.call("list_acknowledgements");
        const [row] = items;
        return row && `${row.name} ${row.reason} ${row.severity} ${row.status}`;
      });
    for (const member of cluster.members)
      assert.equal(await facts(member), `${named.name} the vendor knows fail active`);

    await kill(first);
    await cluster.restart(first);
    assert.equal(await facts(first), `${named.name} the vendor knows fail active`, "it is on its disk");
    await console.shows(/node n\d .*live \ds/);
    await cluster.traffic();
    await console.shows(/^│.\. ACKED +1 acknowledged/m);

    await console.press("G", "enter");
    await console.shows(/^│> (folded|over) +provider acme-chat +the vendor knows/m);
    await console.press("u", "y");
    await console.shows(/acknowledgement lifted \(index \d+ on \d\/3 nodes\)/);
    await console.press("1");
    await cluster.traffic();
    await console.shows(/^│.! FAIL +provider +acme-chat/m);

    const body = { reason: "a moment", duration: "4s" } as const;
    await second.node.client.call("put_acknowledgement", { params: named, body });
    await console.shows(/^│.\. ACKED +1 acknowledged/m);
    await console.shows(/^│.! FAIL +provider +acme-chat/m);
  });

  test("the console leaves a node that dies for the next one, and shows it again when it is back", async (t) => {
    const [first, second] = cluster.members;
    assert.ok(first && second);
    const console = await attached(t);
    await console.shows(/node n1 .*live/);
    const diedAt = performance.now();
    await kill(first);
    await console.shows(`${first.endpointUrl} does not answer`);
    await console.shows(/node n2 .*live \ds/);
    const tookMs = performance.now() - diedAt;
    assert.ok(tookMs < 15_000, `the console was away for ${tookMs} ms`);
    assert.ok(console.row(0).includes(second.endpointUrl), console.row(0));
    await console.shows(/members 2\/3 reachable 1 SILENT/);
    await console.shows(/^│.! MEMBER +member +n1 .*2 of 3 voters reachable, quorum 2/m);
    t.diagnostic(`live again ${Math.round(tookMs)} ms after the kill`);
    await cluster.restart(first);
    await console.shows(/members 3\/3 reachable │/);
    await until("nothing is said of the member", () => !console.screen().includes("! MEMBER"), SLOW_MS);
  });

  test("the console notices and leaves a node that hangs although its connections stay open", async (t) => {
    const [first, , third] = cluster.members;
    assert.ok(first && third);
    const console = await attached(t, first, third);
    await console.shows(/node n1 .*live/);
    const hungAt = performance.now();
    first.node.program.signal("SIGSTOP");
    try {
      await console.shows(`${first.endpointUrl} does not answer; connected to ${third.endpointUrl}`);
      await console.shows(/node n3 .*live \ds/);
      t.diagnostic(`live again ${Math.round(performance.now() - hungAt)} ms after the hang began`);
      await console.shows(/members 2\/3 reachable 1 SILENT/);
    } finally {
      first.node.program.signal("SIGCONT");
    }
    await console.shows(/members 3\/3 reachable │/);
  });

  test("an action whose answer is lost is reported as unknown, and y again does not repeat it", async (t) => {
    const { node, endpointPort } = await cluster.leader();
    const named = { kind: "provider", name: FAILING } as const;
    await node.client.call("put_suspension", { params: named, body: { reason: "rotation", duration: "5m" } });
    const ends = async () => (await node.client.call("list_suspensions")).items[0]?.until;
    const begun = await ends();
    const passing = await passThrough(t, endpointPort);
    const console = await openOn(t, [passing.url]);
    const puts = () => passing.requests.filter(({ method }) => method === "PUT");
    passing.onRequest = ({ method }) => method !== "PUT" || puts().length > 1;
    await console.shows(/^│>~ SUSP +provider +acme-chat/m);
    await console.press("E", "enter", "y");
    await console.shows(/FAILED .*may have been made anyway: y sends it again/s);
    const extended = await until("it was done", async () => ((await ends()) === begun ? undefined : await ends()));
    await insist(console, "y", /suspended for 30m/);
    const keys = puts().map(({ headers }) => headers.get("idempotency-key"));
    assert.ok(keys.length > 1 && keys[0] !== undefined && new Set(keys).size === 1, keys.join());
    assert.equal(await ends(), extended);
  });

  test("an action whose answer is lost appears in the dialog as soon as it is read back", async (t) => {
    const { endpointPort } = await cluster.leader();
    const passing = await passThrough(t, endpointPort);
    const console = await openOn(t, [passing.url]);
    await isFailing(cluster, console);
    passing.onRequest = ({ method }) => method !== "PUT";
    await console.press("s", "enter", "y");
    await console.shows(/FAILED .*may have been made anyway/s);
    await console.shows("provider:acme-chat is suspended already, by loopback");
    await areSuspended(cluster.members, `provider:${FAILING}`);
  });

  test("with a single address the console shows that it is offline and until when, refuses writes, and recovers", async (t) => {
    const third = cluster.member("n3");
    const console = await attached(t, third);
    await isFailing(cluster, console);
    await kill(third);
    await console.shows(/OFFLINE retry \d+s/);
    const retries = new Set<string>();
    await until(
      "the countdown goes on",
      () => {
        retries.add(/OFFLINE retry (\d+)s/.exec(console.row(0))?.[1] ?? "");
        return retries.size > 2;
      },
      SLOW_MS,
    );
    await console.shows(/OFFLINE since \S+: .+; retry in \d/);
    await console.press("s");
    await console.shows(/not available while OFFLINE: \S+/);
    assert.doesNotMatch(console.screen(), /Suspend provider/);
    await cluster.restart(third);
    await console.shows(/node n3 .*live \ds/);
    await areSuspended(cluster.members);
    // The new process has no measurements yet; those of the other two stay for a minute.
    await console.shows(/only on n1, n2|providers 2 ok/);
    await isFailing(cluster, console);
    await console.press("s");
    await console.shows("Suspend provider:acme-chat");
    await console.press("esc");
  });
});

describe("member lost for good", { skip: ptySkip }, async () => {
  const owner = suiteOwner();
  const cluster = await startIncidentCluster(owner);

  test("the guided prune shows the quorum, insists on a snapshot or an explicit refusal, and leaves two members", async (t) => {
    const lost = cluster.members.find(({ node }) => node.id === "n3");
    assert.ok(lost);
    const rest = cluster.members.filter((member) => member !== lost);
    await kill(lost);
    const leader = await cluster.leader(rest);
    const console = await openOn(t, [leader.endpointUrl]);
    await console.shows(/^│>! MEMBER +member +n3 .*2 of 3 voters reachable, quorum 2/m);
    await console.press(":");
    console.type("cluster\r");
    await console.shows(/! silent/);
    await console.press("P");
    await console.shows("Prune the cluster");
    await console.shows(/Consequence +members 3 -> 2; 2 voters, quorum 2, tolerates no loss/);
    assert.match(console.screen(), /LOSING EITHER NODE STOPS WRITES\. Add a node first/);
    assert.match(console.screen(), /\[x\] n1 +\[x\] n2 +\[ \] n3/);
    assert.match(console.screen(), /n3 silent, last heard of/);

    await console.press("enter");
    console.type("n1,n2\r");
    await console.shows("choose whether a snapshot is saved first, or skipped");
    assert.deepEqual(await idsAt(leader), ["n1", "n2", "n3"]);
    await console.press("shift-tab", "shift-tab", "right");
    await console.shows("<save first>");
    await console.press("tab", "tab");
    console.type("3");
    await console.press("enter");
    await console.shows("the typed text does not match");
    assert.deepEqual(await idsAt(leader), ["n1", "n2", "n3"]);
    await console.press("backspace", "enter");
    await console.shows(/members are n1, n2/);
    for (const member of rest) {
      await until(`${member.node.id} sees two members`, async () => (await idsAt(member)).join() === "n1,n2", SLOW_MS);
    }
    const [archive = ""] = (await readdir(console.dir)).filter((name) => name.endsWith(".tgz"));
    assert.match(archive, /^gateway-\d{8}-\d{6}\.tgz$/);
    await console.shows(/members 2\/2 reachable/);
    assert.equal((await statusOf(leader)).ready, true);

    await console.press(":");
    console.type("recover\r");
    await console.shows(/A majority is reachable: do NOT recover/);
    // Of two equally advanced members the first is chosen; either may be an entry ahead.
    for (const command of [
      /gateway cluster recover -config node.yaml -keep n[12]/,
      /-confirm/,
      /systemctl stop gateway/,
    ])
      assert.match(console.screen(), command);
  });
});

async function idsAt({ node }: Member): Promise<readonly string[]> {
  return (await node.client.call("list_cluster_members")).items.map(({ id }) => id).sort();
}
