/**
 * The admin plane of a node: trusted issuers, policy and listeners. Source: specification document 1 (Authentication), document
 * 2 (`admin`, `issuers`).
 */
import type { Lifetime, Log } from "../../../base/index.ts";
import {
  type Access,
  createTokenPrincipals,
  loadPolicy,
  openAdminListener,
  openAdminPlane,
  openAdminSocket,
  PERMIT_ALL,
  type Ports,
} from "../../admin/index.ts";
import { createCachedVerifier } from "../../auth/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import { ConfigurationRefused } from "../configuration/environment-settings.ts";
import { openDisk, resolveBeside } from "../configuration/read-configuration-files.ts";
import type { TokenVerifiers } from "../governance/token-verifiers.ts";

/** Default of `roles.claim` (specification document 2). */
const DEFAULT_ROLES_CLAIM = "groups";

type PolicyRead =
  | { readonly kind: "loaded"; readonly file: string; readonly access: Access; readonly warnings: readonly string[] }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/**
 * Reads `admin.policy_file`, with problem lines for a person. Returns `undefined` if none is configured. `path` is the node
 * file's.
 */
export async function readPolicy({ admin }: NodeFile, path: string): Promise<PolicyRead | undefined> {
  if (admin?.policy_file === undefined) return undefined;
  const file = resolveBeside(path, admin.policy_file);
  const text = await openDisk().readText(file);
  if (text.kind === "problem") return { kind: "refused", problems: [`admin.policy_file: ${text.message}`] };
  const policy = await loadPolicy(text.text);
  const problemLine = ({ line, column, message }: { line: number; column: number; message: string }): string =>
    `${file}:${line}:${column}: ${message}`;
  return policy.kind === "refused"
    ? { kind: "refused", problems: policy.problems.map(problemLine) }
    : { kind: "loaded", file, access: policy.access, warnings: policy.warnings.map(problemLine) };
}

/** Returns the access rules; without a policy everything is permitted. Throws `ConfigurationRefused`. */
export async function accessOf(nodeFile: NodeFile, path: string, log: Log): Promise<Access> {
  const policy = await readPolicy(nodeFile, path);
  if (policy === undefined) return PERMIT_ALL;
  if (policy.kind === "refused") throw new ConfigurationRefused(policy.problems);
  for (const warning of policy.warnings) log.warn("admin policy", { warning });
  return policy.access;
}

interface AdminPlaneOptions {
  readonly nodeFile: NodeFile;
  /** Path of the node file. */
  readonly path: string;
  readonly access: Access;
  readonly ports: Ports;
  readonly tokens: TokenVerifiers;
  readonly log: Log;
}

export interface AdminListeners {
  /** Path of the admin socket, and the bound address of the admin listener; each `undefined` if it is not open. */
  readonly socket: string | undefined;
  readonly listen: string | undefined;
}

/** Opens the admin socket and listener; `owner` closes them. Rejects if one cannot be opened. */
export async function openAdminListeners(options: AdminPlaneOptions, owner: Lifetime): Promise<AdminListeners> {
  const { nodeFile, path, access, ports, tokens, log } = options;
  const { local_socket: socketFile, listen = "", issuers: bindings = [] } = nodeFile.admin ?? {};
  if (socketFile === undefined && listen === "") return { socket: undefined, listen: undefined };
  const plane = owner.own("admin plane", openAdminPlane(ports, access), (it) => it.close());

  const bound = bindings.map(({ issuer, audience, roles }) => ({
    issuer,
    audience,
    roles: { claim: roles?.claim ?? DEFAULT_ROLES_CLAIM, map: roles?.map },
  }));
  const principals = createTokenPrincipals(bound, createCachedVerifier(tokens.verifier, ports.clock), log);

  const socket = socketFile && resolveBeside(path, socketFile);
  if (socket) owner.own("admin socket", await openAdminSocket({ path: socket, plane }), (it) => it.close());
  const network =
    listen === ""
      ? undefined
      : owner.own(
          "admin listener",
          await openAdminListener({
            address: listen,
            plane,
            tokens: bindings.length === 0 ? undefined : (token, signal) => principals.identify(token, signal),
          }),
          (it) => it.close(),
        );
  return { socket, listen: network?.address };
}
