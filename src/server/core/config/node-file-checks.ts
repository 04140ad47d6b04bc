/**
 * What the node file's schema cannot say: how the cluster starts, who may reach the admin API, keys that depend on the
 * value of another. Spec: document 2. Sections that this version refuses are checked all the same, so that a
 * file which is written for a later version is told everything that is wrong with it.
 */

import { parseAddress } from "../../../base/index.ts";
import type { NodeFile } from "./node-file.ts";
import type { Path, Problem, ProblemAt } from "./problem.ts";

type Check = (file: NodeFile, problem: ProblemAt) => readonly (Problem | undefined)[];

export const nodeFileChecks = (file: NodeFile, problem: ProblemAt): readonly Problem[] =>
  [checkListeners, checkStart, checkPeers, checkJoin, checkIssuers, checkAdmin, checkExtproc, checkTls].flatMap(
    (check) => check(file, problem).filter((it) => it !== undefined),
  );

const checkListeners: Check = ({ listen, metrics_listen: metrics }, problem) => [
  listen === metrics && !listen.endsWith(":0")
    ? problem(["metrics_listen"], "is the address of `listen` already")
    : undefined,
];

const checkStart: Check = ({ cluster: { bootstrap, peers, join } }, problem) => [
  bootstrap !== true && peers === undefined && join === undefined
    ? problem(["cluster"], "does not say how the node starts; set `bootstrap: true`, `peers` or `join`")
    : undefined,
];

const checkPeers: Check = ({ cluster }, problem) => {
  const { node_id: own, peers, secret } = cluster;
  if (peers === undefined) return [];
  const ids = peers.map(({ id }) => id);
  return [
    ids.includes(own) ? undefined : problem(["cluster", "node_id"], "is the `id` of none of the `peers`"),
    ...repeated(["cluster", "peers"], "id", ids, problem),
    ...repeated(
      ["cluster", "peers"],
      "raft_addr",
      peers.map((peer) => peer.raft_addr),
      problem,
    ),
    ...peers.map(({ forward_addr: address }, at) =>
      peers.length > 1 && (address ?? "") === ""
        ? problem(["cluster", "peers", at], "needs a `forward_addr`, since there is more than one peer")
        : undefined,
    ),
    peers.length > 1 && secret === undefined ? problem(["cluster"], MEMBERS_NEED_SECRET) : undefined,
  ];
};

const checkJoin: Check = ({ cluster }, problem) =>
  cluster.join === undefined
    ? []
    : [
        ...(["raft_addr", "forward_addr"] as const).map((key) =>
          (cluster[key] ?? "") === "" ? problem(["cluster"], `a joining node needs \`${key}\``) : undefined,
        ),
        cluster.secret === undefined ? problem(["cluster"], MEMBERS_NEED_SECRET) : undefined,
      ];

const MEMBERS_NEED_SECRET = "needs a `secret`, by which members know each other";

/** Claims that most issuers let a caller set (spec document 1, Authentication). */
const SELF_SET_CLAIMS: ReadonlySet<string> = new Set(["email", "preferred_username", "upn"]);

const checkIssuers: Check = ({ issuers = [] }, problem) => [
  ...repeated(
    ["issuers"],
    "name",
    issuers.map(({ name }) => name),
    problem,
  ),
  ...issuers.map(({ subject_claim: claim, trust_subject_claim: isTrusted }, at) =>
    SELF_SET_CLAIMS.has(claim) && !isTrusted
      ? problem(
          ["issuers", at, "subject_claim"],
          `callers can usually set \`${claim}\` themselves; \`trust_subject_claim: true\` says that here they cannot`,
        )
      : undefined,
  ),
];

const checkAdmin: Check = ({ admin, issuers = [] }, problem) => {
  if (admin === undefined) return [];
  const bindings = admin.issuers ?? [];
  const listen = admin.listen ?? "";
  const names = issuers.map(({ name }) => name);
  return [
    listen !== "" && bindings.length === 0 && !isLoopback(listen)
      ? problem(["admin", "listen"], "without an issuer the admin API must listen on a loopback address")
      : undefined,
    bindings.length > 0 && admin.policy_file === undefined
      ? problem(["admin"], "needs a `policy_file`, since an issuer is set")
      : undefined,
    ...bindings.flatMap(({ issuer, roles }, at) => [
      names.includes(issuer)
        ? undefined
        : problem(["admin", "issuers", at, "issuer"], "names no entry of the top-level `issuers`"),
      roles !== undefined && SELF_SET_CLAIMS.has(roles.claim) && !roles.trust_claim
        ? problem(
            ["admin", "issuers", at, "roles"],
            `callers can usually set \`${roles.claim}\` themselves; \`trust_claim: true\` says that here they cannot`,
          )
        : undefined,
    ]),
  ];
};

const checkExtproc: Check = ({ extproc }, problem) => [
  extproc !== undefined && extproc.inspect_responses !== "" && extproc.inspect_listen === undefined
    ? problem(["extproc", "inspect_responses"], "needs `inspect_listen` beside it")
    : undefined,
];

const DNS_KEYS = {
  hosted_api: { needed: ["api_token"], allowed: ["api_token", "zone_token"] },
  rfc2136: { needed: ["server", "key_name", "key_alg", "key"], allowed: ["server", "key_name", "key_alg", "key"] },
} as const;

const checkTls: Check = ({ tls }, problem) => {
  const { dns, domains = [] } = tls ?? {};
  const wildcard = domains.findIndex((domain) => domain.startsWith("*."));
  const needsDns =
    wildcard >= 0 && dns === undefined
      ? problem(["tls", "domains", wildcard], "a wildcard needs `tls.dns`, since HTTP-01 cannot prove it")
      : undefined;
  if (dns === undefined) return [needsDns];
  const { needed, allowed }: { readonly needed: readonly string[]; readonly allowed: readonly string[] } =
    DNS_KEYS[dns.provider];
  return [
    ...needed
      .filter((key) => !Object.hasOwn(dns, key))
      .map((key) => problem(["tls", "dns"], `provider \`${dns.provider}\` needs \`${key}\``)),
    ...Object.keys(dns)
      .filter((key) => key !== "provider" && !allowed.includes(key))
      .map((key) => problem(["tls", "dns", key], `is not a key of provider \`${dns.provider}\``)),
  ];
};

function isLoopback(address: string): boolean {
  const host = parseAddress(address)?.host;
  return host === "localhost" || host === "::1" || (host !== undefined && /^127(\.\d+){3}$/.test(host));
}

function repeated(list: Path, key: string, values: readonly string[], problem: ProblemAt): readonly Problem[] {
  return values.flatMap((value, at) => {
    const first = values.indexOf(value);
    return first < at ? [problem([...list, at, key], `is that of item ${first} already`)] : [];
  });
}
