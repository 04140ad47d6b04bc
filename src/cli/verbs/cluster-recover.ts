/**
 * `gateway cluster recover`: lets a stopped node continue with fewer members after the majority of its cluster was
 * lost. Without `-confirm` it only prints what is on disk and changes nothing. Source: specification document 1,
 * "cluster recover"; cluster reference, section 2.7.
 *
 * stdout gets the facts, one per line, so that several survivors can be compared; stderr gets advice. Status 1: the
 * node is running, its directory is damaged, or the requested membership is not possible.
 */

import { dirname, resolve } from "node:path";
import { parseDocument } from "yaml";
import {
  inspectStorage,
  planRecovery,
  RecoveryRefused,
  recoverMembership,
  type StorageFacts,
} from "../../server/cluster/index.ts";
import { readRegular } from "../file-input.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import { type ExitStatus, type Io, resolvePath } from "../process-io.ts";
import type { clusterRecoverFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof clusterRecoverFlags>;

interface Target {
  readonly dir: string;
  readonly nodeId: string;
}

export async function run(options: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  const target = await targetOf(options, io);
  const keep = options.keep === undefined ? [target.nodeId] : idsOf(options.keep);
  return recover({ ...target, keep }, options.confirm, io);
}

async function recover(
  request: Target & { readonly keep: readonly string[] },
  isConfirmed: boolean,
  io: Io,
): Promise<ExitStatus> {
  const facts = await inspectStorage(request.dir);
  if (facts.nodeId !== request.nodeId) {
    throw new RecoveryRefused(
      `the data directory ${facts.path} belongs to node ${facts.nodeId}, not to ${request.nodeId}`,
    );
  }
  io.stdout.write(linesOf(facts));
  const plan = planRecovery(facts, request.keep);
  switch (plan.kind) {
    case "refused":
      throw new RecoveryRefused(plan.reason);
    case "nothing":
      io.stderr.write(`The members are ${plan.members.join(", ")} already: there is nothing to write.\n`);
      return 0;
    case "change":
      break;
    default:
      return plan satisfies never;
  }
  if (!isConfirmed) {
    io.stderr.write(advice(facts, request.keep, plan.dropped));
    return 0;
  }
  const { voters, learners, dropped, recoveryEpoch, index, term } = await recoverMembership(request);
  const listeners = learners.length === 0 ? "" : `, learners ${listOf(learners)}`;
  const otherNodes = [...dropped, ...request.keep.filter((id) => id !== request.nodeId)].sort();
  io.stderr.write(
    `Recovered: voters ${listOf(voters)}${listeners}; the log continues after entry ${index} of term ${term}, ` +
      `recovery ${recoveryEpoch}.\nStart this node. The others (${listOf(otherNodes)}) return with an empty data directory ` +
      "and cluster.join; one that comes with its old directory is refused.\n",
  );
  return 0;
}

function linesOf(facts: StorageFacts): string {
  const { configuration, lastConfiguration } = facts;
  const rows: (readonly [string, string | number])[] = [
    ["directory", facts.path],
    ["node", facts.nodeId],
    ["last term", facts.lastTerm],
    ["last index", facts.lastIndex],
    ["term", facts.term],
    ["vote", facts.vote ?? "none"],
    ["commit", facts.commit],
    ["applied", facts.applied],
    ["uncommitted", facts.uncommitted],
    ["first index", facts.firstIndex],
    ["snapshot", facts.snapshotIndex === 0 ? "none" : facts.snapshotIndex],
    ["voters", votersOf(configuration)],
    ["learners", listOf(configuration.learners)],
    ["storage id", facts.storageId],
    ["recoveries", facts.recoveryEpoch],
  ];
  const [voters, learners] = [votersOf(lastConfiguration), listOf(lastConfiguration.learners)];
  if (voters !== votersOf(configuration) || learners !== listOf(configuration.learners)) {
    rows.push(["uncommitted voters", voters], ["uncommitted learners", learners]);
  }
  return rows.map(([name, value]) => `${name.padEnd(22)}${value}\n`).join("");
}

function advice(facts: StorageFacts, keep: readonly string[], dropped: readonly string[]): string {
  const tail =
    facts.uncommitted === 0
      ? ""
      : `Uncommitted entries (${facts.uncommitted}) will count as committed: some may have been acknowledged.\n`;
  return (
    `Nothing was written. With -confirm this node keeps ${listOf(keep)} and drops ${listOf(dropped)}.\n${tail}` +
    "Print this on every survivor, and confirm it on only one: the one with the highest last term and, among equals, " +
    "the highest last index. A higher index of an older term knows less, since such entries may have been replaced.\n"
  );
}

function votersOf({ voters, votersOutgoing }: StorageFacts["configuration"]): string {
  return votersOutgoing.length === 0
    ? listOf(voters)
    : `${listOf(voters)} (joint with ${listOf(votersOutgoing)}: a change was in progress)`;
}

function listOf(ids: readonly (string | number)[]): string {
  return ids.length === 0 ? "none" : ids.join(", ");
}

function idsOf(text: string): readonly string[] {
  const ids = [...new Set(text.split(",").map((id) => id.trim()))];
  if (ids.includes("")) throw new UsageError("flag '-keep' takes node ids, separated by commas");
  return ids;
}

async function targetOf({ config, dataDir, nodeId }: Options, io: Io): Promise<Target> {
  if (dataDir !== undefined && nodeId !== undefined) return { dir: resolvePath(io, dataDir), nodeId };
  if (config === undefined) throw new UsageError("needs '-config', or '-data-dir' and '-node-id'");
  const file = resolvePath(io, config);
  const cluster = await readCluster(file);
  return {
    dir:
      dataDir === undefined
        ? resolve(dirname(file), settingOf(cluster["data_dir"], "data_dir", io))
        : resolvePath(io, dataDir),
    nodeId: nodeId ?? settingOf(cluster["node_id"], "node_id", io),
  };
}

const MAX_NODE_FILE_BYTES = 4 << 20;

/**
 * Reads only the `cluster` block. The rest is not validated, because the secrets that it refers to may be unavailable
 * during a recovery.
 */
async function readCluster(path: string): Promise<Readonly<Record<string, unknown>>> {
  let text: string;
  try {
    text = (await readRegular(path, path, MAX_NODE_FILE_BYTES)).toString("utf8");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const document = parseDocument(text);
  const file: unknown = document.errors.length > 0 ? undefined : document.toJS({ maxAliasCount: 0 });
  const cluster = isObject(file) ? file["cluster"] : undefined;
  if (!isObject(cluster)) throw new UsageError(`${path} is not a node file with a cluster block`);
  return cluster;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function settingOf(value: unknown, key: string, io: Io): string {
  const flag = key === "data_dir" ? "-data-dir" : "-node-id";
  if (typeof value !== "string" || value === "")
    throw new UsageError(`no cluster.${key} in the node file: give '${flag}'`);
  return value.replace(/\$\{([^}]*)\}/g, (_, name: string) => {
    const found = io.env[name];
    if (found === undefined) {
      throw new UsageError(
        `cluster.${key} names \${${clipArgument(name)}}, which is not set here: set it, or give '${flag}'`,
      );
    }
    return found;
  });
}
