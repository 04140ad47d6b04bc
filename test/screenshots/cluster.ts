/**
 * Three nodes as on three machines, on three loopback addresses, in a folder whose name may appear in a picture. Linux
 * only, where all of 127.0.0.0/8 belongs to the machine.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type AdminClient, createAdminClient } from "../../src/admin-api/index.ts";
import { AUDIENCE, type Issuer } from "../e2e/admin/support/issuer.ts";
import { GivenUp, until } from "../e2e/cluster/support/until.ts";
import { atEnd, type Owner, within } from "../e2e/support/wait.ts";
import { testAuthority } from "../server/tls/support/authority.ts";
import { countStart } from "../support/count-start.ts";
import { policy } from "./documents.ts";
import { PAST_DAYS, setClock } from "./past-days.ts";

/** Short, because it appears in the first line of every picture. */
export const FOLDER = "/tmp/gw-demo";
export const GATEWAY = resolve(fileURLToPath(import.meta.url), "../../../bin/gateway");

const START_LIMIT_MS = 60_000;
const IDS = ["n1", "n2", "n3"] as const;
export type NodeId = (typeof IDS)[number];

interface DemoNode {
  readonly id: NodeId;
  readonly client: AdminClient;
  /** Resolves once the node serves requests, which needs a configuration. */
  addresses(): Promise<NodeAddresses>;
  stop(): Promise<void>;
}

/** Addresses in the form `http://host:port`. */
export interface NodeAddresses {
  readonly gateway: string;
  readonly admin: string;
  readonly metrics: string;
}

export type DemoCluster = Readonly<Record<NodeId, DemoNode>>;

export const socketOf = (id: NodeId): string => join(FOLDER, id === "n1" ? "admin.sock" : `${id}.sock`);
/** The node's stderr: its log and its audit trail. */
const trailOf = (id: NodeId): string => join(FOLDER, `${id}.jsonl`);

/** The audit trail of n1 without its log, as a collector stores it. */
export const AUDIT_TRAIL = join(FOLDER, "audit.jsonl");

export async function exportTrail(): Promise<void> {
  const lines = (await readFile(trailOf("n1"), "utf8")).split("\n").slice(0, -1);
  await writeFile(AUDIT_TRAIL, lines.flatMap((it) => (it.includes('"sig":') ? [`${it}\n`] : [])).join(""));
}

const hostOf = (id: NodeId): string => `127.0.0.${IDS.indexOf(id) + 1}`;
const raftOf = (id: NodeId): string => `${hostOf(id)}:7000`;
const forwardOf = (id: NodeId): string => `${hostOf(id)}:7001`;

export async function startCluster(owner: Owner, issuer: Issuer): Promise<DemoCluster> {
  // Fails if the folder exists, because another program may own it.
  await mkdir(FOLDER, { mode: 0o700 });
  atEnd(owner, () => rm(FOLDER, { recursive: true, force: true }));
  await setClock(FOLDER, PAST_DAYS);
  const [n1, n2, n3] = await Promise.all([
    startNode(owner, "n1", issuer),
    startNode(owner, "n2", issuer),
    startNode(owner, "n3", issuer),
  ]);
  await until("n1 leads", () => leads(n1), START_LIMIT_MS);
  return { n1, n2, n3 };
}

/** Makes the node leader if another one leads, so that the pictures show the leader. */
async function leads({ id, client }: DemoNode): Promise<boolean> {
  const { role, leader } = await client.call("get_status");
  if (role !== "leader" && leader !== null) {
    await client.call("transfer_leader", { body: { to: id } }).catch(() => undefined);
  }
  return role === "leader";
}

/** Sets a node's clock from the file that `setClock` writes. */
const clockModule = (): URL =>
  new URL(
    `../e2e/reconcile/support/driven-clock.mjs?file=${encodeURIComponent(join(FOLDER, "clock"))}`,
    import.meta.url,
  );

async function startNode(owner: Owner, id: NodeId, issuer: Issuer): Promise<DemoNode> {
  const folder = join(FOLDER, id);
  const path = join(folder, "node.yaml");
  await mkdir(folder);
  await writeFile(path, JSON.stringify(nodeFile(id, issuer.url)));
  if (id === TLS_NODE) await writePair(folder);
  await writeCache(join(folder, "cache", "sha256"));
  await writeFile(join(folder, "admin.cedar"), policy(id === "n3" ? "list_secrets" : undefined));
  const log = openSync(trailOf(id), "a", 0o600);
  countStart();
  const child = spawn(process.execPath, [GATEWAY, "-config", path], {
    // Three nodes share one machine here, so each has a single process.
    env: {
      PATH: process.env["PATH"],
      GATEWAY_WORKERS: "1",
      GATEWAY_USAGE_REPORT: "300ms",
      NODE_OPTIONS: `--import=${clockModule()}`,
    },
    stdio: ["ignore", "ignore", log],
  });
  closeSync(log);
  let isRunning = true;
  const ended = new Promise<void>((done) => {
    child.once("close", () => {
      isRunning = false;
      done();
    });
  });
  async function stop(): Promise<void> {
    if (!isRunning) return;
    child.kill("SIGTERM");
    await within(`the end of ${id}`, ended, START_LIMIT_MS).finally(() => child.kill("SIGKILL"));
  }
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  atEnd(owner, () => stop().finally(() => process.off("exit", kill)));
  const client = createAdminClient({ address: { kind: "socket", path: socketOf(id) } });
  atEnd(owner, () => client.close());
  const look = async () => {
    if (!isRunning) throw new GivenUp(`${id} ended:\n${await readFile(trailOf(id), "utf8")}`);
    const status = await client.call("get_status").catch(() => undefined);
    return status?.leader ?? undefined;
  };
  await until(`${id} knows a leader`, look, START_LIMIT_MS);
  return { id, client, stop, addresses: () => until(`${id} serves`, () => readyLine(id), START_LIMIT_MS) };
}

/** Reads the addresses from its log. */
async function readyLine(id: NodeId): Promise<NodeAddresses | undefined> {
  const line = (await readFile(trailOf(id), "utf8")).split("\n").find((it) => it.includes('"message":"ready"'));
  if (line === undefined) return undefined;
  const { listen, admin, metrics } = JSON.parse(line) as { listen: string; admin: string; metrics: string };
  return { gateway: `http://${listen}`, admin: `http://${admin}`, metrics: `http://${metrics}/metrics` };
}

/** Node whose model listener uses TLS. Nobody sends it model requests. */
const TLS_NODE = "n3";
const DAY_MS = 86_400_000;

/** The certificate expires soon, as if nobody renewed the files. */
async function writePair(folder: string): Promise<void> {
  const now = Date.now();
  const { issue } = await testAuthority(now);
  const names = ["models.example.com", "models.example.org"];
  const { chain, key } = await issue({ names, notBefore: now - 82 * DAY_MS, notAfter: now + 8 * DAY_MS });
  await writeFile(join(folder, "tls.crt"), chain);
  await writeFile(join(folder, "tls.key"), key, { mode: 0o600 });
}

/** Models in the cache that no detector uses any more. */
async function writeCache(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [at, size] of [1_843_200, 431_104, 88_064].entries()) {
    const content = Buffer.alloc(size, at + 1);
    await writeFile(join(folder, createHash("sha256").update(content).digest("hex")), content);
  }
}

const nodeFile = (id: NodeId, issuer: string): unknown => ({
  listen: `${hostOf(id)}:0`,
  metrics_listen: `${hostOf(id)}:0`,
  cache_dir: "cache",
  ...(id === TLS_NODE && { tls: { cert_file: "tls.crt", key_file: "tls.key" } }),
  cluster: {
    node_id: id,
    data_dir: "data",
    secret: "of a cluster that is thrown away, long enough",
    raft_addr: raftOf(id),
    forward_addr: forwardOf(id),
    peers: IDS.map((peer) => ({ id: peer, raft_addr: raftOf(peer), forward_addr: forwardOf(peer) })),
  },
  issuers: [{ name: "corp", url: issuer }],
  admin: {
    local_socket: socketOf(id),
    listen: `${hostOf(id)}:0`,
    policy_file: "admin.cedar",
    issuers: [
      {
        issuer: "corp",
        audience: AUDIENCE,
        roles: { claim: "groups", map: { oncall: ["operator"], finance: ["viewer"] } },
      },
    ],
  },
});
