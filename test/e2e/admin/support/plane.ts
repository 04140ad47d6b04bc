/** A gateway with admin socket and listener, an issuer and a policy. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createOne, led, provider, ready, type TestNode } from "../../config/support/nodes.ts";
import type { Document } from "../../support/config.ts";
import type { Gateway } from "../../support/gateway.ts";
import type { Owner } from "../../support/wait.ts";
import { AUDIENCE } from "./issuer.ts";
import type { DoorAddress } from "./send.ts";

type Env = Readonly<Record<string, string>>;

interface PlaneOptions {
  /** URL of the issuer; `undefined` for none, with a loopback listener. */
  readonly issuer?: string;
  /** Text of the policy. */
  readonly policy?: string;
  /** Keys of its binding: `audience`, `roles`, `login`. */
  readonly binding?: Document;
  readonly deployment?: Document;
  /** Changed keys of the node file. */
  readonly changes?: Document;
  readonly env?: Env;
}

export interface Plane {
  readonly node: TestNode;
  readonly gateway: Gateway;
  readonly local: DoorAddress;
  readonly network: Extract<DoorAddress, { kind: "network" }>;
  /** `http://127.0.0.1:port` of the admin listener. */
  readonly url: string;
}

/**
 * Starts with one provider, `one`, that is not running. The deployment is written through the API unless one is given.
 */
export async function startPlane(owner: Owner, options: PlaneOptions = {}): Promise<Plane> {
  const node = await preparePlane(owner, options);
  return planeOf(node, options);
}

/** Writes the files and starts no process. */
export async function preparePlane(owner: Owner, options: PlaneOptions): Promise<TestNode> {
  const { issuer, policy, binding, deployment, changes } = options;
  const node = await createOne(owner, {
    deployment,
    changes: {
      ...(issuer !== undefined && { issuers: [{ name: "corp", url: issuer }] }),
      admin: {
        local_socket: "admin.sock",
        listen: "127.0.0.1:0",
        ...(policy !== undefined && { policy_file: "admin.cedar" }),
        ...(issuer !== undefined && { issuers: [{ issuer: "corp", audience: AUDIENCE, ...binding }] }),
      },
      ...changes,
    },
  });
  if (policy !== undefined) await writeFile(join(node.dir, "admin.cedar"), policy);
  return node;
}

/** Starts the process of the node and returns its plane. */
export async function planeOf(node: TestNode, { deployment, env }: PlaneOptions = {}): Promise<Plane> {
  const program = node.launch(env);
  const end = program.ended.then(({ status }) => {
    throw new Error(`the gateway ended (${status}):\n${program.stderr()}`);
  });
  if (deployment === undefined) await Promise.race([configure(node), end]);
  end.catch(() => undefined);
  const gateway = await ready(program);
  const { admin } = await program.logged("ready");
  const url = `http://${admin}`;
  return {
    node,
    gateway,
    local: { kind: "local", socketPath: join(node.dir, "admin.sock") },
    network: { kind: "network", port: Number(new URL(url).port) },
    url,
  };
}

/** Name of the first source of a plane without a deployment document. */
const BASE_SOURCE = "base";

async function configure(node: TestNode): Promise<void> {
  await led(node);
  if ((await node.client.call("list_sources")).items.length > 0) return;
  const body = JSON.stringify({ providers: [provider("one", "http://127.0.0.1:9")] });
  await node.client.call("put_source", { params: { name: BASE_SOURCE }, body });
}
