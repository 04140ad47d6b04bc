/** What a test decides about a node, and how its process is told: a node file and a deployment document. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

type Begin =
  | { readonly kind: "bootstrap" }
  /** Of these nodes, this one included. */
  | { readonly kind: "peers"; readonly ids: readonly string[] }
  /** By way of these nodes; with a wait it starts a cluster of its own when all of them stay silent. */
  | {
      readonly kind: "join";
      readonly through: readonly string[];
      readonly bootstrapAfterMs?: number;
      /** The nodes' own listeners and not the proxies before them, which are never closed ports. */
      readonly isDirect?: boolean;
    };

export interface Settings {
  readonly begin: Begin;
  readonly secret: string;
  readonly previousSecret?: string;
  readonly rejoinAfterMs?: number;
  readonly deadAfterMs?: number;
  /** By which its clock is ahead of this machine's; negative behind. */
  readonly clockShiftMs?: number;
  /** The node id it goes by, where that is not its own. */
  readonly as?: string;
  /** Where the log and the state are; in the node's own folder if left out. */
  readonly dataDir?: string;
  /** `bin/gateway` of another build. */
  readonly program?: string;
  /** Address of the data plane; any port if left out. */
  readonly listen?: string;
  /** Its deployment arrives through the admin API. */
  readonly isWithoutFile?: boolean;
  /** Of the deployment document, beside its provider. */
  readonly deployment?: Readonly<Record<string, unknown>>;
  /** Further variables of the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Where a node listens, and what it tells of it. */
export interface Addresses {
  readonly raftListen: string;
  readonly forwardListen: string;
  readonly raft: string;
  readonly forward: string;
}

interface Placed {
  readonly id: string;
  /** The node's own folder. */
  readonly folder: string;
  readonly dataDir: string;
  readonly settings: Settings;
  addressesOf(id: string): Addresses;
}

interface Command {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly socketPath: string;
}

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");

export const GATEWAY = join(root, "bin/gateway");

/** Writes what the process reads, and says how to start it. */
export async function commandOf(placed: Placed): Promise<Command> {
  const { folder, settings } = placed;
  await mkdir(folder, { recursive: true });
  const socketPath = join(folder, "admin.sock");
  const path = join(folder, "node.yaml");
  await writeFile(join(folder, "deployment.yaml"), JSON.stringify({ ...DEPLOYMENT, ...settings.deployment }));
  await writeFile(path, JSON.stringify(nodeFile(placed, socketPath)));
  const { previousSecret, clockShiftMs = 0 } = settings;
  const shift = new URL(`shift-clock.mjs?ms=${clockShiftMs}`, import.meta.url);
  const env = {
    // The log of the cluster is the subject here, and a node with more processes of the data plane starts later.
    GATEWAY_WORKERS: "1",
    ...settings.env,
    ...(previousSecret !== undefined && { GATEWAY_CLUSTER_SECRET_PREVIOUS: previousSecret }),
    ...(clockShiftMs !== 0 && { NODE_OPTIONS: `--import=${shift}` }),
  };
  return { command: [process.execPath, settings.program ?? GATEWAY, "-config", path], env, socketPath };
}

function nodeFile({ id, dataDir, settings, addressesOf }: Placed, socketPath: string): unknown {
  const { begin, secret, rejoinAfterMs, deadAfterMs } = settings;
  const own = addressesOf(id);
  return {
    listen: settings.listen ?? "127.0.0.1:0",
    metrics_listen: "none",
    ...(settings.isWithoutFile !== true && { deployment: "deployment.yaml" }),
    admin: { local_socket: socketPath },
    cluster: {
      node_id: settings.as ?? id,
      data_dir: dataDir,
      secret,
      raft_addr: own.raftListen,
      forward_addr: own.forwardListen,
      advertise: own.raft,
      forward_advertise: own.forward,
      ...(begin.kind === "bootstrap" && { bootstrap: true }),
      ...(begin.kind === "peers" && {
        peers: begin.ids.map((peer) => {
          const { raft, forward } = addressesOf(peer);
          return { id: peer, raft_addr: raft, forward_addr: forward };
        }),
      }),
      ...(begin.kind === "join" && {
        join: begin.through.map((peer) => addressesOf(peer)[begin.isDirect === true ? "forwardListen" : "forward"]),
        ...(begin.bootstrapAfterMs !== undefined && {
          bootstrap: true,
          bootstrap_wait: `${begin.bootstrapAfterMs}ms`,
        }),
        ...(rejoinAfterMs !== undefined && { rejoin_after: `${rejoinAfterMs}ms` }),
      }),
      ...(deadAfterMs !== undefined && { dead_after: `${deadAfterMs}ms` }),
    },
  };
}

const DEPLOYMENT = {
  providers: [{ name: "main", dialect: "compat", base_url: "http://127.0.0.1:9/v1" }],
};
