/** Settings of a node, and how they reach its process: a node file and a deployment document. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

type Begin =
  | { readonly kind: "bootstrap" }
  /** Starts with these nodes as peers, including this one. */
  | { readonly kind: "peers"; readonly ids: readonly string[] }
  /** Joins through these nodes; with a wait it forms its own cluster if all stay silent. */
  | {
      readonly kind: "join";
      readonly through: readonly string[];
      readonly bootstrapAfterMs?: number;
      /** Uses the nodes' own listeners instead of the proxies in front of them, which are never closed ports. */
      readonly isDirect?: boolean;
    };

export interface Settings {
  readonly begin: Begin;
  readonly secret: string;
  readonly previousSecret?: string;
  readonly rejoinAfterMs?: number;
  readonly deadAfterMs?: number;
  /** Milliseconds by which its clock is ahead of this machine's; negative for behind. */
  readonly clockShiftMs?: number;
  /** Node id, if different from its own. */
  readonly as?: string;
  /** Directory of log and state; by default in the node's own folder. */
  readonly dataDir?: string;
  /** `bin/gateway` of another build. */
  readonly program?: string;
  /** Address of the data plane; any port if omitted. */
  readonly listen?: string;
  /** Its deployment is written through the admin API. */
  readonly isWithoutFile?: boolean;
  /** Keys of the deployment document, beside its provider. */
  readonly deployment?: Readonly<Record<string, unknown>>;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Listen addresses of a node and the ones it announces. */
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

/** Writes the files that the process reads, and returns its command. */
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
    // These tests are about the cluster's log, and a node with more data plane processes starts later.
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
