/** Starts the gateway node of `gateway dev` from its configuration files. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Lifetime, Log } from "../../base/index.ts";
import { readNode, readOrigins, type ServingNode, startConfigNode } from "../../server/node/index.ts";
import { buildOf } from "../build.ts";
import type { Io } from "../process-io.ts";

export interface DevNode {
  readonly serving: ServingNode;
  /** Resolves with the error that ended the node. */
  readonly ended: Promise<Error>;
}

interface DevNodeOptions {
  readonly dir: string;
  readonly nodePath: string;
  readonly io: Io;
  readonly log: Log;
}

/** Starts the node. `owner` closes everything that is opened. */
export async function startDevNode({ dir, nodePath, io, log }: DevNodeOptions, owner: Lifetime): Promise<DevNode> {
  const documents = await readNode(nodePath, io.env);
  const { nodeFile } = documents;
  if (nodeFile === undefined || !documents.isSound) throw new Error(documents.problems.join("; "));
  // The audit trail goes to a file next to the configuration, because the terminal is for the user.
  const audit = owner.own("audit file", await open(join(dir, "audit.jsonl"), "a", 0o600), (it) => it.close());
  const { version, commit } = buildOf();
  const node = await startConfigNode(
    {
      documents: { ...documents, nodeFile },
      env: io.env,
      workers: 1,
      build: { version, commit, node: process.versions.node },
      log,
      signal: io.signal,
      auditFd: audit.fd,
      maxInFlight: undefined,
      drainMs: undefined,
      nameServers: [],
      corsOrigins: readOrigins(io.env, "GATEWAY_CORS_ORIGINS"),
      maxBufferedBytes: undefined,
      responsesMemory: undefined,
      rehearsalMemory: undefined,
      usageEveryMs: undefined,
      heartbeatMs: undefined,
    },
    owner,
  );
  return { serving: await node.serving, ended: node.ended };
}
