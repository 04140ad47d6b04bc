/**
 * Checks of `cluster` in the node file: how the node starts, and how other nodes find and identify it. Spec: document 2,
 * `cluster`.
 */

import { parseAddress, parseDuration } from "../../../../base/index.ts";
import type { Problem, ProblemAt } from "../problem.ts";
import type { NodeFile } from "./node-file.ts";
import { type Check, repeated } from "./node-file-rule.ts";

/**
 * Minimum of `dead_after` without a warning, in milliseconds. With less, a restart or a slow election would get a healthy member
 * removed.
 */
const MIN_DEAD_AFTER_MS = 10_000;

/**
 * Minimum length of the secret without a warning: 128 random bits in hexadecimal. All trust between members is derived from it.
 */
const GOOD_SECRET_LENGTH = 32;

export const clusterChecks: Check = (file, problem) =>
  [checkDataDir, checkStart, checkPeers, checkAddresses, checkSecret, checkDeadAfter].flatMap((check) =>
    check(file, problem),
  );

/** Returns true if the cluster has, or may get, other members. */
const hasOthers = ({ cluster: { peers = [], join } }: NodeFile): boolean => peers.length > 1 || join !== undefined;

const isFilled = (text: string | undefined): boolean => text !== undefined && text !== "";

/** Checks that a node without `data_dir` opens the inspector and has no other members. Source: design decisions, section 19. */
const checkDataDir: Check = (file, problem) => {
  const { cluster, extproc } = file;
  if (cluster.data_dir !== undefined) return [];
  if (extproc?.inspect_listen === undefined) return [problem(["cluster"], "the required key `data_dir` is missing")];
  return hasOthers(file) || isFilled(cluster.raft_addr) || isFilled(cluster.forward_addr)
    ? [problem(["cluster"], "needs a `data_dir`: only a node without other members can keep its state in memory")]
    : [];
};

const checkStart: Check = ({ cluster: { bootstrap, peers, join } }, problem) => [
  bootstrap !== true && peers === undefined && join === undefined
    ? problem(["cluster"], "does not say how the node starts; set `bootstrap: true`, `peers` or `join`")
    : undefined,
];

const checkPeers: Check = ({ cluster: { node_id: own, peers } }, problem) => {
  if (peers === undefined) return [];
  const path = ["cluster", "peers"];
  const ids = peers.map(({ id }) => id);
  return [
    ids.includes(own) ? undefined : problem(["cluster", "node_id"], "is the `id` of none of the `peers`"),
    ...repeated(path, "id", ids, problem),
    ...repeatedAddresses(peers, problem),
    ...peers.map(({ forward_addr: address }, at) =>
      peers.length > 1 && !isFilled(address)
        ? problem([...path, at], "needs a `forward_addr`, since there is more than one peer")
        : undefined,
    ),
  ];
};

type Peers = NonNullable<NodeFile["cluster"]["peers"]>;

/** Reports two listeners with one address, of one peer or of two. */
function repeatedAddresses(peers: Peers, problem: ProblemAt): readonly Problem[] {
  const first = new Map<string, string>();
  return peers.flatMap((peer, at) =>
    (["raft_addr", "forward_addr"] as const).flatMap((key) => {
      const address = peer[key] ?? "";
      const before = first.get(address);
      if (address !== "" && before === undefined) first.set(address, `\`${key}\` of item ${at}`);
      return before === undefined ? [] : [problem(["cluster", "peers", at, key], `is the ${before} already`)];
    }),
  );
}

const checkAddresses: Check = ({ cluster }, problem) => [
  ...(["raft_addr", "forward_addr"] as const).map((key) =>
    cluster.join !== undefined && !isFilled(cluster[key])
      ? problem(["cluster"], `a joining node needs \`${key}\``)
      : undefined,
  ),
  ...ADVERTISED.map(([listens, advertised]) => {
    const address = cluster[advertised] || (cluster.peers === undefined ? cluster[listens] : undefined);
    return isFilled(address) && !isDialable(address ?? "")
      ? problem(
          ["cluster", isFilled(cluster[advertised]) ? advertised : listens],
          isFilled(cluster[advertised])
            ? "names no host that other nodes can connect to"
            : `names no host that other nodes can connect to; set \`${advertised}\` to the address that they use`,
        )
      : undefined;
  }),
  ...(cluster.peers ?? []).flatMap((peer, at) =>
    (["raft_addr", "forward_addr"] as const).map((key) =>
      (cluster.peers ?? []).length > 1 && isFilled(peer[key]) && !isDialable(peer[key] ?? "")
        ? problem(["cluster", "peers", at, key], "names no host that other nodes can connect to")
        : undefined,
    ),
  ),
  ...(cluster.join ?? []).map((address, at) =>
    isDialable(address) ? undefined : problem(["cluster", "join", at], "names no host that this node could connect to"),
  ),
];

const ADVERTISED = [
  ["raft_addr", "advertise"],
  ["forward_addr", "forward_advertise"],
] as const;

/**
 * Returns true if other nodes can call the address. An address of every interface (`:7000`, `0.0.0.0:7000`, `[::]:7000`) can
 * only be listened on.
 */
function isDialable(address: string): boolean {
  const { host, port } = parseAddress(address) ?? { port: 0 };
  return host !== undefined && host !== "0.0.0.0" && !/^[0:]+$/.test(host) && port !== 0;
}

const checkSecret: Check = (file, problem) => {
  const { secret, kek_file: kekFile, raft_addr: raft, forward_addr: forward } = file.cluster;
  if (secret !== undefined) {
    return [
      secret.length < GOOD_SECRET_LENGTH
        ? problem(
            ["cluster", "secret"],
            `has fewer than ${GOOD_SECRET_LENGTH} characters; all trust between members is derived from it, so make it random and long`,
            "warning",
          )
        : undefined,
    ];
  }
  const listens = isFilled(raft) ? "raft_addr" : isFilled(forward) ? "forward_addr" : undefined;
  return [
    hasOthers(file)
      ? problem(["cluster"], "needs a `secret`, which authenticates members to each other")
      : listens === undefined
        ? undefined
        : problem(["cluster", listens], "needs a `secret` beside it, which authenticates members to each other"),
    kekFile === undefined
      ? undefined
      : problem(["cluster", "kek_file"], "needs a `secret` beside it, since both keys are used together"),
  ];
};

const checkDeadAfter: Check = ({ cluster: { dead_after: deadAfter } }, problem) => [
  isFilled(deadAfter) && (parseDuration(deadAfter ?? "") ?? 0) < MIN_DEAD_AFTER_MS
    ? problem(
        ["cluster", "dead_after"],
        "is below `10s`: a restart or a slow election can remove a healthy member",
        "warning",
      )
    : undefined,
];
