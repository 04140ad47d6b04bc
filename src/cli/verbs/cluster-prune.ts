/**
 * `gateway cluster prune`: tells a running cluster which of its members remain. Source: specification document 1,
 * "cluster prune"; cluster reference, section 2.6.
 *
 * Like a node, the verb has the cluster secret, from which it derives the certificate authority and issues itself a
 * certificate. The request is idempotent, so if an address does not answer, the next one is tried even though the first
 * may have acted. stdout gets the remaining members, one per line; stderr the events. Status 1: the cluster refused, or
 * has another secret; 2: usage; 3: no address answered.
 */

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { parseAddress } from "../../base/index.ts";
import {
  createForwardClient,
  createIdentity,
  deriveKeys,
  type ForwardClient,
  type ForwardReply,
  MIN_SECRET_LENGTH,
} from "../../server/cluster/index.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { clusterPruneFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof clusterPruneFlags>;

const PAUSE_MS = 5_000;
/**
 * Timeout of one request. A leader that is to be removed first hands over leadership, and the answer comes after the
 * change is applied.
 */
const ANSWER_MS = 30_000;

const NODE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** Temporary errors: a later attempt, or another node, may succeed. */
const TRANSIENT: ReadonlySet<string> = new Set(["no_leader", "busy"]);

export async function run(options: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  return prune(options, io, PAUSE_MS);
}

/** Sends the request. `pauseMs`: pause between two passes over the addresses. */
export async function prune(options: Options, io: Io, pauseMs: number): Promise<ExitStatus> {
  const addresses = list("addr", options.addr).map(dialAddress);
  const keep = list("keep", options.keep).map(nodeId);
  const client = await clientOf(io);
  try {
    let worstStatus: ExitStatus = 3;
    for (let attempt = 1; attempt <= options.attempts; attempt += 1) {
      if (attempt > 1) await pause(pauseMs, undefined, { signal: io.signal });
      for (const address of addresses) {
        const outgoing = { kind: "prune", header: { keep } } as const;
        const outcome = outcomeOfReply(
          await client.request(address, outgoing, { timeoutMs: ANSWER_MS, signal: io.signal }),
        );
        if (outcome.kind === "pruned") return report(outcome.members, io);
        io.stderr.write(`${address}: ${outcome.message}\n`);
        if (outcome.kind === "refused") return 1;
        if (outcome.kind === "answered") worstStatus = 1;
      }
    }
    io.stderr.write(worstStatus === 1 ? "The members were not changed.\n" : "No address answered.\n");
    return worstStatus;
  } finally {
    client.close();
  }
}

async function clientOf(io: Io): Promise<ForwardClient> {
  const secret = secretOf(io, "GATEWAY_CLUSTER_SECRET");
  const previous = secretOf(io, "GATEWAY_CLUSTER_SECRET_PREVIOUS");
  if (secret === undefined)
    throw new UsageError("GATEWAY_CLUSTER_SECRET is not set: export the cluster secret of the node files in it");
  const keys = await deriveKeys(secret);
  const id = randomBytes(8).toString("hex");
  const identity = await createIdentity({
    keys,
    subject: { kind: "cli", id },
    now: () => io.now(),
    ...(previous === undefined ? {} : { previousKeys: await deriveKeys(previous) }),
  });
  const { clusterId } = keys;
  return createForwardClient({
    identity,
    self: { nodeId: id, storageId: "", epoch: undefined, clusterId, proto: [1, 1], feat: 0 },
  });
}

function secretOf(io: Io, name: string): string | undefined {
  const secret = io.env[name];
  if (secret === undefined || secret === "") return undefined;
  if (secret.length < MIN_SECRET_LENGTH) throw new UsageError(`${name} has fewer than ${MIN_SECRET_LENGTH} characters`);
  return secret;
}

type Outcome =
  | { readonly kind: "pruned"; readonly members: readonly string[] }
  /** Permanent refusal; other addresses would refuse too. */
  | { readonly kind: "refused"; readonly message: string }
  /** A node answered but could not do it; the next address may. */
  | { readonly kind: "answered"; readonly message: string }
  | { readonly kind: "silent"; readonly message: string };

function outcomeOfReply(reply: ForwardReply): Outcome {
  switch (reply.kind) {
    case "result": {
      const members = member(reply.header, "members");
      return Array.isArray(members) && members.every((id): id is string => typeof id === "string")
        ? { kind: "pruned", members }
        : { kind: "answered", message: "the answer names no members" };
    }
    case "error": {
      const message = `the cluster refused: ${clipArgument(reply.code)}: ${reply.message}`;
      return { kind: TRANSIENT.has(reply.code) ? "answered" : "refused", message };
    }
    case "busy":
      return { kind: "answered", message: "too many requests are outstanding" };
    case "unreachable":
      if (reply.failure === "untrusted")
        return {
          kind: "answered",
          message: `${reply.message} Check also that this is a forward address (\`forward_addr\`).`,
        };
      // The raft listener admits no command line.
      if (reply.message.endsWith("wrong_purpose"))
        return { kind: "answered", message: `this is a raft address: give the forward address (\`forward_addr\`)` };
      return { kind: reply.failure === "refused" ? "answered" : "silent", message: reply.message };
    case "unknown":
      return { kind: "silent", message: `${reply.message}; the members may have changed` };
    default:
      return reply satisfies never;
  }
}

function report(members: readonly string[], io: Io): ExitStatus {
  for (const id of members) io.stdout.write(`${clipArgument(id)}\n`);
  io.stderr.write(members.length === 1 ? "One member remains.\n" : `${members.length} members remain.\n`);
  return 0;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function list(flag: string, text: string): readonly string[] {
  const items = text.split(",").map((item) => item.trim());
  if (items.includes("")) throw new UsageError(`flag '-${flag}' has an empty item`);
  return [...new Set(items)];
}

function dialAddress(text: string): string {
  const { host, port = 0 } = parseAddress(text) ?? {};
  if (host === undefined || port === 0) throw new UsageError(`flag '-addr': '${clipArgument(text)}' is not HOST:PORT`);
  return text;
}

function nodeId(text: string): string {
  if (!NODE_ID.test(text)) throw new UsageError(`flag '-keep': '${clipArgument(text)}' is not a node id`);
  return text;
}
