/**
 * Checks of the node file beyond its schema: listeners, access to the admin API, and keys that depend on the value of another
 * key. Those of `cluster` are in `node-file-cluster-checks.ts`, those of `tls` in `node-file-tls-checks.ts`. Spec: document 2.
 *
 * Sections that this version does not support are checked too, so that all problems of a file for a later version are reported.
 */

import { parseAddress } from "../../../../base/index.ts";
import { formatPath, type Path, type Problem, type ProblemAt } from "../problem.ts";
import { selfSetClaim } from "../self-set-claims.ts";
import type { NodeFile } from "./node-file.ts";
import { clusterChecks } from "./node-file-cluster-checks.ts";
import { type Check, isLoopbackHost, repeated } from "./node-file-rule.ts";
import { checkTls } from "./node-file-tls-checks.ts";

export const nodeFileChecks = (file: NodeFile, problem: ProblemAt): readonly Problem[] =>
  [checkListeners, clusterChecks, checkIssuers, checkAdmin, checkExtproc, checkTls].flatMap((check) =>
    check(file, problem).filter((it) => it !== undefined),
  );

/** Returns the listeners of the process with their keys; empty or `none` means no listener. */
const listenersOf = ({
  listen,
  metrics_listen: metrics,
  cluster,
  admin,
  extproc,
}: NodeFile): readonly (readonly [Path, string])[] => [
  [["listen"], listen],
  [["metrics_listen"], metrics],
  [["cluster", "raft_addr"], cluster.raft_addr ?? ""],
  [["cluster", "forward_addr"], cluster.forward_addr ?? ""],
  [["admin", "listen"], admin?.listen ?? ""],
  [["extproc", "inspect_listen"], extproc?.inspect_listen ?? ""],
];

const checkListeners: Check = (file, problem) => {
  const listeners = listenersOf(file).filter(([, address]) => address !== "" && address !== "none");
  return listeners.map(([path, address], at) => {
    const first = listeners.slice(0, at).find((earlier) => earlier[1] === address);
    return first === undefined || address.endsWith(":0")
      ? undefined
      : problem(path, `is the address of \`${formatPath(first[0])}\` already`);
  });
};

/** Issuer of callers on this machine, who need no token, and one of their roles. */
const OWN_NAME = "local";
const OWN_ROLES: ReadonlySet<string> = new Set([OWN_NAME, "loopback"]);

const checkIssuers: Check = ({ issuers = [] }, problem) => [
  ...repeated(
    ["issuers"],
    "name",
    issuers.map(({ name }) => name),
    problem,
  ),
  ...repeated(
    ["issuers"],
    "url",
    issuers.map(({ url }) => url),
    problem,
  ),
  ...issuers.map(({ name }, at) =>
    name === OWN_NAME
      ? problem(["issuers", at, "name"], "is the reserved name of callers on this machine; choose another name")
      : undefined,
  ),
  ...issuers.map(({ subject_claim: claim, trust_subject_claim: isTrusted }, at) => {
    const message = isTrusted ? undefined : selfSetClaim(claim, "trust_subject_claim");
    return message === undefined ? undefined : problem(["issuers", at, "subject_claim"], message);
  }),
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
    ...bindings.flatMap(({ roles }, at) =>
      Object.entries(roles?.map ?? {}).map(([value, granted]) =>
        granted.some((role) => OWN_ROLES.has(role))
          ? problem(
              ["admin", "issuers", at, "roles", "map", value],
              "grants a role that is reserved for callers without a token (`local`, `loopback`)",
            )
          : undefined,
      ),
    ),
    ...bindings.flatMap(({ issuer, roles }, at) => {
      const selfSet = roles === undefined || roles.trust_claim ? undefined : selfSetClaim(roles.claim, "trust_claim");
      return [
        names.includes(issuer)
          ? undefined
          : problem(["admin", "issuers", at, "issuer"], "names no entry of the top-level `issuers`"),
        selfSet === undefined ? undefined : problem(["admin", "issuers", at, "roles"], selfSet),
      ];
    }),
  ];
};

const checkExtproc: Check = ({ extproc }, problem) => {
  if (extproc === undefined) return [];
  const { inspect_listen: listen, inspect_responses: responses } = extproc;
  return [
    responses !== "" && listen === undefined
      ? problem(["extproc", "inspect_responses"], "needs `inspect_listen` beside it")
      : undefined,
    listen !== undefined && isPublicAddress(parseAddress(listen)?.host ?? "")
      ? problem(
          ["extproc", "inspect_listen"],
          "is unencrypted and has no authentication: listen on a loopback address or in a private network",
          "warning",
        )
      : undefined,
  ];
};

const isLoopback = (address: string): boolean => isLoopbackHost(parseAddress(address)?.host ?? "");

/** Matches private, loopback, link-local and shared networks, and the wildcard address, whose reachability is unknown. */
const NEAR_IPV4 =
  /^(?:0\.0\.0\.0$|10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;
const NEAR_IPV6 = /^(?:[0:]+1?$|f[cd]|fe[89ab])/i;

/**
 * Returns true if a listen address can be reached from anywhere; false for names, whose address is unknown. `host` has no
 * brackets; empty means every interface. Source: RFC 6890; RFC 4193; RFC 6598.
 */
function isPublicAddress(host: string): boolean {
  if (/^\d+(?:\.\d+){3}$/.test(host)) return !NEAR_IPV4.test(host);
  if (!host.includes(":")) return false;
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(host)?.[1];
  return mapped === undefined ? !NEAR_IPV6.test(host) : isPublicAddress(mapped);
}
