/**
 * A cluster of real processes: each node with a folder, ports and a socket of its own, proxies between all of them, and
 * operations for tests. A node keeps its settings and directory across starts; everything ends with the owner.
 */
import assert from "node:assert/strict";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../support/ports.ts";
import type { Owner } from "../../support/wait.ts";
import { atEnd, within } from "../../support/wait.ts";
import { createNodeClient } from "./admin-node-client.ts";
import { createLinks, type Links } from "./links.ts";
import type { NodeClient, NodeStatus } from "./node-client.ts";
import { type End, launch, type Running } from "./process.ts";
import { buildProgram } from "./program.ts";
import { type Addresses, commandOf, type Settings } from "./settings.ts";
import { GivenUp, LIMIT_MS, until } from "./until.ts";

export const SECRET = "the secret of a cluster under test, long enough";

export interface TestNode {
  readonly id: string;
  readonly addresses: Addresses;
  readonly dataDir: string;
  /** Settings for its next start. */
  settings: Settings;
  /** Client of the running process, or of the last one. */
  readonly nodeClient: NodeClient;
  readonly socketPath: string;
  readonly pid: number;
  readonly isRunning: boolean;
  readonly isPaused: boolean;
  /** All output of its processes in order. */
  output(): string;
  /** Starts the process without waiting. */
  launch(): Promise<Running>;
  /** Resolves when its socket answers. */
  ready(): Promise<void>;
  start(): Promise<void>;
  /** Sends SIGTERM; the process must end cleanly. */
  stop(): Promise<void>;
  /** Sends SIGKILL, so no cleanup runs. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Starts it and resolves with its end, which must come by itself. */
  failsToStart(): Promise<End & { readonly output: string }>;
  /** Moves its data directory away and resolves with the new path. */
  blank(): Promise<string>;
}

export interface TestCluster {
  readonly ids: readonly string[];
  readonly links: Links;
  node(id: string): TestNode;
  /** Nodes in id order. */
  readonly nodes: readonly TestNode[];
  /** Adds a node without starting it. */
  add(id: string, settings: Partial<Settings> & Pick<Settings, "begin">): Promise<TestNode>;
  startAll(ids?: readonly string[]): Promise<void>;
  /** Resolves with the id of a leader that all running nodes name; each of them is a member. */
  leader(among?: readonly string[]): Promise<string>;
  /** Resolves when all running nodes have applied what the leader has. */
  caughtUp(): Promise<void>;
  /** Resolves when all running nodes are ready: a leader is known and the configuration is in force. */
  serving(): Promise<void>;
  close(): Promise<void>;
}

interface ClusterOptions {
  readonly ids: readonly string[];
  /** Settings beyond the list of peers. */
  readonly settings?: Partial<Settings>;
  readonly dataDirs?: ReadonlyMap<string, string>;
  /** For nodes that do not share the loopback: their listen host and their command prefix. They have no proxies. */
  readonly places?: ReadonlyMap<string, { readonly host: string; readonly prefix: readonly string[] }>;
}

const STOP_LIMIT_MS = 20_000;

export async function createCluster(owner: Owner, options: ClusterOptions): Promise<TestCluster> {
  const { settings = {} } = options;
  buildProgram();
  const folder = await mkdtemp(join(tmpdir(), "gateway-cluster-"));
  const links = createLinks();
  const nodes = new Map<string, TestNode>();

  async function close(): Promise<void> {
    for (const node of nodes.values()) await node.kill();
    await links.close();
    await rm(folder, { recursive: true, force: true });
  }
  atEnd(owner, close);

  async function add(id: string, overrides: Partial<Settings> & Pick<Settings, "begin">): Promise<TestNode> {
    const [raftPort, forwardPort] = [await freePort(), await freePort()];
    const { host = "127.0.0.1", prefix = [] } = options.places?.get(id) ?? {};
    const raftListen = `${host}:${raftPort}`;
    const forwardListen = `${host}:${forwardPort}`;
    const addresses: Addresses =
      options.places === undefined
        ? {
            raftListen,
            forwardListen,
            raft: `127.0.0.1:${await links.before(id, raftPort)}`,
            forward: `127.0.0.1:${await links.before(id, forwardPort)}`,
          }
        : { raftListen, forwardListen, raft: raftListen, forward: forwardListen };
    const node = createNode({
      id,
      addresses,
      prefix,
      folder: join(folder, id),
      settings: { secret: SECRET, ...settings, ...overrides },
      links,
      addressesOf: (other) => cluster.node(other).addresses,
    });
    nodes.set(id, node);
    return node;
  }

  const running = (): readonly TestNode[] => [...nodes.values()].filter((node) => node.isRunning && !node.isPaused);

  const cluster: TestCluster = {
    get ids() {
      return [...nodes.keys()];
    },
    links,
    get nodes() {
      return [...nodes.values()];
    },
    node(id) {
      const node = nodes.get(id);
      if (node === undefined) throw new Error(`no node ${id}`);
      return node;
    },
    add,
    async startAll(ids = cluster.ids) {
      const chosen = ids.map((id) => cluster.node(id));
      for (const node of chosen) await node.launch();
      await Promise.all(chosen.map((node) => node.ready()));
    },
    leader(among) {
      return until(`a leader known to all of ${among ?? "the running nodes"}`, async () => {
        const queried = among === undefined ? running() : among.map((id) => cluster.node(id));
        const standings = await Promise.all(queried.map((node) => node.nodeClient.status()));
        return agreedLeader(queried, standings);
      });
    },
    async serving() {
      for (const { id, nodeClient } of running()) {
        await until(`${id} is ready`, async () => (JSON.parse(await nodeClient.report()) as { ready: boolean }).ready);
      }
    },
    async caughtUp() {
      await until("all nodes have the same log applied", async () => {
        const standings = await Promise.all(running().map((node) => node.nodeClient.status()));
        return new Set(standings.map(({ applied }) => applied)).size === 1;
      });
    },
    close,
  };
  for (const id of options.ids) {
    const dataDir = options.dataDirs?.get(id);
    await add(id, { begin: { kind: "peers", ids: options.ids }, ...(dataDir !== undefined && { dataDir }) });
  }
  return cluster;
}

function agreedLeader(queried: readonly TestNode[], standings: readonly NodeStatus[]): string | undefined {
  const named = new Set(standings.map(({ leader }) => leader));
  const [leader] = named;
  if (named.size !== 1 || leader === undefined || !queried.some(({ id }) => id === leader)) return undefined;
  const isMember = standings.every(({ role, members }, at) => {
    const { id } = queried[at]!;
    return (role === "leader") === (id === leader) && members.some((member) => member.id === id);
  });
  const isOfOneTerm = new Set(standings.map(({ term }) => term)).size === 1;
  return isMember && isOfOneTerm ? leader : undefined;
}

interface NodeOptions {
  readonly id: string;
  readonly addresses: Addresses;
  readonly prefix: readonly string[];
  readonly folder: string;
  readonly settings: Settings;
  readonly links: Links;
  addressesOf(id: string): Addresses;
}

function createNode({ id, addresses, prefix, folder, links, addressesOf, ...given }: NodeOptions): TestNode {
  let settings = given.settings;
  let running: Running | undefined;
  let nodeClient: NodeClient | undefined;
  let socketPath = "";
  let earlier = "";
  let isPaused = false;
  let blanked = 0;

  const dataDir = (): string => settings.dataDir ?? join(folder, "data");

  const node: TestNode = {
    id,
    addresses,
    get dataDir() {
      return dataDir();
    },
    get settings() {
      return settings;
    },
    set settings(next) {
      settings = next;
    },
    get socketPath() {
      return socketPath;
    },
    get nodeClient() {
      if (nodeClient === undefined) throw new Error(`${id} was never started`);
      return nodeClient;
    },
    get pid() {
      return running?.pid ?? -1;
    },
    get isRunning() {
      return running?.isRunning === true;
    },
    get isPaused() {
      return isPaused;
    },
    output: () => earlier + (running?.output() ?? ""),
    async launch() {
      assert.equal(node.isRunning, false, `${id} runs already`);
      earlier = node.output();
      nodeClient?.close();
      const placed = { id, folder, dataDir: dataDir(), settings, addressesOf };
      const { command, env, socketPath: path } = await commandOf(placed);
      socketPath = path;
      running = launch({ command: [...prefix, ...command], env });
      links.setProcess(id, running.pid);
      nodeClient = createNodeClient(socketPath);
      isPaused = false;
      return running;
    },
    async ready() {
      const started = running;
      await until(`${id} answers`, async () => {
        if (started === undefined || !started.isRunning) {
          throw new GivenUp(`${id} ended at its start:\n${started?.output()}`);
        }
        return (await node.nodeClient.status()) !== undefined;
      });
    },
    async start() {
      await node.launch();
      await node.ready();
    },
    async stop() {
      if (running === undefined) return;
      running.signal("SIGTERM");
      const end = await within(`the end of ${id}`, running.ended, STOP_LIMIT_MS);
      assert.deepEqual(end, { status: 0, signal: null }, `${id} did not end well:\n${running.output()}`);
    },
    async kill() {
      nodeClient?.close();
      if (running === undefined) return;
      running.signal("SIGKILL");
      await running.ended;
    },
    pause() {
      isPaused = true;
      running?.signal("SIGSTOP");
    },
    resume() {
      isPaused = false;
      running?.signal("SIGCONT");
    },
    async failsToStart() {
      const started = await node.launch();
      const end = await within(`the end of ${id}`, started.ended, LIMIT_MS);
      return { ...end, output: started.output() };
    },
    async blank() {
      blanked += 1;
      const aside = `${dataDir()}-${blanked}`;
      await rename(dataDir(), aside);
      return aside;
    },
  };
  return node;
}
