/**
 * Three nodes of one cluster, each with an admin listener on a fixed port, two providers of which the first fails, and
 * a console.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { BackendRecord, NodeStatus } from "../../../../src/admin-api/index.ts";
import { openTerminal, type TestTerminal } from "../../../console/support/terminal.ts";
import { until } from "../../cluster/support/until.ts";
import { createNodes, led, provider, ready, type TestNode } from "../../config/support/nodes.ts";
import type { Gateway } from "../../support/gateway.ts";
import { freePort } from "../../support/ports.ts";
import { reply, scriptedUpstream, type Upstream } from "../../support/upstream.ts";
import { atEnd, type Owner, within } from "../../support/wait.ts";

const root = resolve(fileURLToPath(import.meta.url), "../../../../..");

/** A silence, an election and a timeout together, on a busy machine. */
export const SLOW_MS = 45_000;

export const FAILING = "acme-chat";
export const HEALTHY = "acme-alt";

export interface Member {
  readonly node: TestNode;
  readonly endpointPort: number;
  readonly endpointUrl: string;
  readonly gateway: Gateway;
}

export interface IncidentCluster {
  readonly members: readonly Member[];
  member(id: string): Member;
  /** `failing.script` decides its answers; 503 at first. */
  readonly failing: Upstream;
  /** Sends a few requests to each given node, so that each has called the provider. */
  traffic(through?: readonly Member[]): Promise<void>;
  leader(among?: readonly Member[]): Promise<Member>;
  /** Resolves when it serves again. */
  restart(member: Member): Promise<void>;
  /** Resolves when all nodes run, know one leader, and nothing is suspended, as at the beginning. */
  whole(): Promise<void>;
}

const isDown: Upstream["script"] = (socket) =>
  reply(socket, { status: 503, body: '{"error":{"message":"overloaded"}}' });

export async function startIncidentCluster(owner: Owner): Promise<IncidentCluster> {
  const failing = await scriptedUpstream(owner, isDown);
  const healthy = await scriptedUpstream(owner);
  const nodes = await createNodes(owner, {
    ids: ["n1", "n2", "n3"],
    deployment: {
      version: 1,
      providers: [
        provider(FAILING, failing.url, { models: ["acme-*"], failover: { to: [HEALTHY], when: ["5xx"] } }),
        provider(HEALTHY, healthy.url, { models: ["other-*"] }),
      ],
      default_provider: FAILING,
    },
  });
  const members = await Promise.all(
    nodes.map(async (node) => {
      const endpointPort = await freePort();
      await node.writeNode({ admin: { local_socket: "admin.sock", listen: `127.0.0.1:${endpointPort}` } });
      const started: { gateway: Gateway } = { gateway: await node.start() };
      return {
        node,
        endpointPort,
        endpointUrl: `http://127.0.0.1:${endpointPort}`,
        get gateway() {
          return started.gateway;
        },
        restarted(gateway: Gateway) {
          started.gateway = gateway;
        },
      };
    }),
  );
  await Promise.all(nodes.map(led));
  const cluster: IncidentCluster = {
    members,
    failing,
    member(id) {
      const found = members.find(({ node }) => node.id === id);
      if (found === undefined) throw new Error(`no member ${id}`);
      return found;
    },
    async traffic(through = members) {
      await Promise.all(through.flatMap((member) => Array.from({ length: 6 }, () => ask(member))));
    },
    leader: (among = members) =>
      until(
        "one leader known to all",
        async () => {
          const known = await Promise.all(among.map(({ node }) => node.client.call("get_status")));
          const [first] = known;
          const isOne = known.every(({ leader, term }) => leader === first?.leader && term === first?.term);
          return isOne ? among.find(({ node }) => node.id === first?.leader) : undefined;
        },
        SLOW_MS,
      ),
    async restart(member) {
      const gateway = await ready(member.node.launch());
      members.find(({ node }) => node === member.node)?.restarted(gateway);
    },
    async whole() {
      const lost = members.filter(({ node }) => !isRunning(node));
      await Promise.all(lost.map(cluster.restart));
      const { node } = await cluster.leader();
      for (const { kind, name } of (await node.client.call("list_suspensions")).items) {
        await node.client.call("delete_suspension", { params: { kind, name } });
      }
      await areSuspended(members);
    },
  };
  return cluster;
}

function isRunning({ program }: TestNode): boolean {
  try {
    process.kill(program.pid, 0);
    return true;
  } catch {
    return false;
  }
}

export async function kill({ node }: Member): Promise<void> {
  node.program.signal("SIGKILL");
  await within(`the end of ${node.id}`, node.program.ended);
}

async function ask({ gateway }: Member): Promise<void> {
  const body = JSON.stringify({ model: "acme-large", messages: [] });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body });
  await answer.arrayBuffer();
}

export const statusOf = ({ node }: Member): Promise<NodeStatus> => node.client.call("get_status");

export async function backendOf({ node }: Member, name: string): Promise<BackendRecord> {
  const { items } = await node.client.call("list_backends");
  const found = items.find((backend) => backend.name === name);
  if (found === undefined) throw new Error(`${node.id} knows no ${name}`);
  return found;
}

/** Returns `kind:name` of the current suspensions on this node. */
async function suspendedAt({ node }: Member): Promise<readonly string[]> {
  const { items } = await node.client.call("list_suspensions");
  return items.filter(({ status }) => status === "active").map(({ kind, name }) => `${kind}:${name}`);
}

/** Resolves once they are suspended on each member. */
export async function areSuspended(members: readonly Member[], ...wanted: readonly string[]): Promise<void> {
  for (const member of members) {
    await until(
      `${member.node.id} has suspended ${wanted.join(", ") || "nothing"}`,
      async () => (await suspendedAt(member)).join() === wanted.join(),
      SLOW_MS,
    );
  }
}

interface ConsoleOptions {
  readonly urls: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

export interface ConsoleUnderTest extends TestTerminal {
  /** Directory for files saved without a folder. */
  readonly dir: string;
  /** Like `until`, with a longer limit. */
  shows(expected: string | RegExp): Promise<void>;
}

/** Starts `gateway console` in a folder of its own. */
export async function openConsole(owner: Owner, options: ConsoleOptions): Promise<ConsoleUnderTest> {
  const { urls, env = {}, columns = 140, rows = 36 } = options;
  const dir = await mkdtemp(join(tmpdir(), "gateway-console-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const terminal = openTerminal(owner, {
    args: [join(root, "bin/gateway"), "console", "-url", urls.join(",")],
    env: { HOME: dir, XDG_STATE_HOME: join(dir, "state"), ...env },
    cwd: dir,
    columns,
    rows,
  });
  return Object.assign(terminal, { dir, shows: (expected: string | RegExp) => shows(terminal, expected) });
}

async function shows(terminal: TestTerminal, expected: string | RegExp): Promise<void> {
  const isSo = (): boolean =>
    typeof expected === "string" ? terminal.screen().includes(expected) : expected.test(terminal.screen());
  try {
    await until(`the screen with ${expected}`, isSo, SLOW_MS);
  } catch (cause) {
    throw new Error(`the screen never had ${expected}:\n${terminal.screen()}`, { cause });
  }
}
