/**
 * Gateways with budgets and the simulated provider: one, or a cluster whose links a test can cut. A member keeps its
 * files across starts, and gets a new port each time.
 *
 * Two providers share the one simulator. A request that fails at `first` (tried twice) fails over to `second`; the
 * names in `FAILING_FIRST` each fail at the first in a different way and are answered by the second.
 */
import assert from "node:assert/strict";
import type { Simulator } from "../../../../../src/simulator/index.ts";
import { createLinks, type Links } from "../../../cluster/support/links.ts";
import { until } from "../../../cluster/support/until.ts";
import { createNodes, ready, SLOW_MS, type TestNode } from "../../../config/support/nodes.ts";
import { type Document, twoDialects } from "../../../support/config.ts";
import type { End, Gateway } from "../../../support/gateway.ts";
import { freePort } from "../../../support/ports.ts";
import { simulated } from "../../../support/simulated.ts";
import { atEnd, type Owner, within } from "../../../support/wait.ts";
import { PROVIDER_KEY } from "../../support/governed.ts";

/** Several start concurrently on a busy machine. */
const START_MS = 60_000;

/** No test reaches its end, since windows are counted from 1970. */
export const LONG_WINDOW = "87600h";

/** Model that the first provider sees, by the requested name. */
export const FAILING_FIRST: Readonly<Record<string, string>> = {
  "by-429": "sim-429",
  "by-500": "sim-500",
  "by-drop": "sim-drop-before-headers",
};

export interface Member {
  readonly id: string;
  readonly node: TestNode;
  /** Gateway of the running process, or of the last one. */
  readonly gateway: Gateway;
  readonly isRunning: boolean;
  /** Resolves when it serves and knows a leader. */
  start(): Promise<void>;
  /** Sends SIGTERM; it must end cleanly. */
  stop(): Promise<void>;
  /** Sends SIGKILL, so no cleanup runs. */
  kill(): Promise<void>;
}

export interface Budgeted {
  readonly simulator: Simulator;
  readonly members: readonly Member[];
  /** Links between the members of a cluster. */
  readonly links: Links;
  /** Returns a member by its id, or by its index from 0. */
  member(which: string | number): Member;
}

interface BudgetedOptions {
  readonly ids?: readonly string[];
  /** Budgets of the deployment document; each gets a profile with its name. */
  readonly budgets: readonly (Document & { readonly name: string })[];
  readonly provider?: Document;
}

export async function startBudgeted(owner: Owner, { ids = ["n1"], budgets, provider }: BudgetedOptions) {
  const simulator = await simulated(owner, { requireKey: PROVIDER_KEY });
  const links = createLinks();
  atEnd(owner, () => links.close());
  const nodes = await createNodes(owner, { ids, deployment: deploymentOf(simulator, budgets, provider) });
  if (nodes.length > 1) await Promise.all((await linked(nodes, links)).map((write) => write()));
  const members = nodes.map((node) => memberOf(owner, node, links, nodes.length > 1));
  await Promise.all(members.map((member) => member.start()));
  const budgeted: Budgeted = {
    simulator,
    members,
    links,
    member(which) {
      const found = typeof which === "number" ? members[which] : members.find(({ id }) => id === which);
      assert.ok(found, `no member ${which}`);
      return found;
    },
  };
  return budgeted;
}

function deploymentOf({ url }: Simulator, budgets: BudgetedOptions["budgets"], provider: Document = {}): Document {
  const simulator = { preset: "simulator", api_key: PROVIDER_KEY };
  const answered = Object.fromEntries(Object.keys(FAILING_FIRST).map((name) => [name, `sim-1:${name}`]));
  return {
    auth: { virtual_keys: true },
    catalog_overlays: [twoDialects("simulator", url)],
    providers: [
      {
        ...simulator,
        name: "first",
        models: ["sim-*"],
        model_aliases: FAILING_FIRST,
        retry: { attempts: 2, backoff: "5ms", retry_after_cap: "100ms" },
        failover: { to: ["second"] },
        ...provider,
      },
      { ...simulator, name: "second", models: ["second-*"], model_aliases: answered },
    ],
    budgets,
    profiles: budgets.map(({ name }) => ({ name, budget: name })),
  };
}

/** Returns functions that write the node files of a cluster whose members reach each other by proxies. */
async function linked(nodes: readonly TestNode[], links: Links): Promise<(() => Promise<void>)[]> {
  const places = await Promise.all(
    nodes.map(async ({ id }) => {
      const [raft, forward] = [await freePort(), await freePort()];
      return {
        id,
        own: { raft_addr: `127.0.0.1:${raft}`, forward_addr: `127.0.0.1:${forward}` },
        seen: {
          raft_addr: `127.0.0.1:${await links.before(id, raft)}`,
          forward_addr: `127.0.0.1:${await links.before(id, forward)}`,
        },
      };
    }),
  );
  const peers = places.map(({ id, seen }) => ({ id, ...seen }));
  return nodes.map((node, at) => () => {
    const { own, seen } = places[at] ?? assert.fail();
    const advertised = { advertise: seen.raft_addr, forward_advertise: seen.forward_addr };
    return node.writeNode({}, { ...own, ...advertised, peers });
  });
}

function memberOf(owner: Owner, node: TestNode, links: Links, isOfCluster: boolean): Member {
  let gateway: Gateway | undefined;
  let isRunning = false;
  const member: Member = {
    id: node.id,
    node,
    get gateway() {
      assert.ok(gateway, `${node.id} was never started`);
      return gateway;
    },
    get isRunning() {
      return isRunning;
    },
    async start() {
      const program = node.launch();
      links.setProcess(node.id, program.pid);
      // Stopping a cluster node by node takes seconds, since the last ones have no quorum to report to.
      if (isOfCluster) atEnd(owner, () => isRunning && member.kill());
      let hasEnded = false;
      void program.ended.then(() => {
        hasEnded = true;
      });
      const isReady = (): boolean => hasEnded || program.log().some(({ message }) => message === "ready");
      await until(`${node.id} serves`, isReady, START_MS);
      gateway = await ready(program);
      isRunning = true;
      await leaderOf(member);
    },
    async stop() {
      isRunning = false;
      await node.stop();
    },
    async kill() {
      isRunning = false;
      node.program.signal("SIGKILL");
      const end: End = await within(`the end of ${node.id}`, node.program.ended, SLOW_MS);
      assert.equal(end.signal, "SIGKILL");
    },
  };
  return member;
}

/** Returns the leader's id as a member knows it. */
export function leaderOf({ id, node }: Member): Promise<string> {
  return until(
    `a leader known to ${id}`,
    async () => (await node.client.call("get_status")).leader ?? undefined,
    SLOW_MS,
  );
}
