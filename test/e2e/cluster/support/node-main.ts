/**
 * A node that is nothing but a replica: it opens the cluster with the options of its environment and does what its parent
 * asks over the channel between them. It ends with status 11 when its storage is refused, 12 when it cannot listen or is
 * not admitted, as the gateway does.
 */
import { createHash, randomBytes } from "node:crypto";
import { setDefaultResultOrder } from "node:dns";
import { createLogger } from "../../../../src/base/index.ts";
import { type Cluster, ClusterError, type ClusterOptions, openCluster } from "../../../../src/server/cluster/index.ts";
import { commands, readKey, readSuspension } from "../../../../src/server/core/state/index.ts";
import type { Question, Reply } from "./channel-door.ts";

setDefaultResultOrder("ipv4first");
const log = createLogger({ stream: process.stderr, isTerminal: false, level: "info", now: Date.now });
const by = { iss: "local", sub: "unix:0" };

function reply(message: Reply): void {
  if (process.connected) process.send?.(message);
}

function contents(cluster: Cluster, table: "susp/" | "key/"): ReadonlyMap<string, number> {
  const rows = [...cluster.view.scan(table)];
  if (table === "susp/") {
    return new Map(rows.map(([, value]) => [readSuspension(value).name, Number(readSuspension(value).reason)]));
  }
  return new Map(rows.map(([, value]) => [readKey(value).name, Number(readKey(value).metadata["value"])]));
}

async function perform(cluster: Cluster, question: Question): Promise<unknown> {
  const { timeoutMs } = question;
  const options = { by, timeoutMs };
  switch (question.kind) {
    case "write": {
      const { register: name, value } = question;
      const p = { kind: "provider", name, reason: String(value), duration_ms: null } as const;
      return await cluster.write(commands.suspensionPut(p), options);
    }
    case "erase":
      return await cluster.write(
        commands.suspensionDelete({ kind: "provider", name: question.register }),
        options,
      );
    case "claim": {
      const id = randomBytes(8).toString("hex");
      const digest = createHash("sha256").update(id).digest("hex");
      const metadata = { value: String(question.value) };
      const { name } = question;
      return await cluster.write(
        commands.keyCreate({ id, name, profile: null, metadata, digest, expires_in_ms: null }),
        options,
      );
    }
    case "read":
      if (question.isConsistent) await cluster.readBarrier({ timeoutMs });
      return contents(cluster, question.table);
    case "status":
      return cluster.status();
    case "remove":
      return await cluster.remove(question.id, options);
    case "prune":
      return await cluster.prune(question.keep, options);
    case "transfer":
      return await cluster.transferLeader(question.to, options);
    case "save": {
      const { archive } = await cluster.saveSnapshot({ stale: question.stale, signal: AbortSignal.timeout(timeoutMs) });
      const chunks: Uint8Array[] = [];
      for await (const chunk of archive) chunks.push(chunk);
      return Buffer.concat(chunks);
    }
    case "restore": {
      const { archive } = question;
      return await cluster.restore(
        (async function* () {
          yield archive;
        })(),
        options,
      );
    }
    default:
      return question satisfies never;
  }
}

async function main(): Promise<number> {
  const options = JSON.parse(process.env["NODE_OPTIONS_OF_CLUSTER"] ?? "{}") as ClusterOptions;
  let cluster: Cluster;
  try {
    cluster = await openCluster({ ...options, log });
  } catch (error) {
    const { name, message, code } = error as NodeJS.ErrnoException;
    log.error(message);
    if (name === "StorageError") return 11;
    return name === "JoinError" || code === "EADDRINUSE" ? 12 : 1;
  }
  log.info("ready", {});
  process.on("message", (question: Question) => {
    perform(cluster, question).then(
      (value) => reply({ id: question.id, kind: "value", value }),
      (error: Error) => {
        const code = error instanceof ClusterError ? error.code : "internal";
        const details = error instanceof ClusterError ? error.details : undefined;
        const isUnknown = code === "internal" || details?.["outcome"] === "unknown";
        reply({ id: question.id, kind: "error", code, message: error.message, isUnknown });
      },
    );
  });
  const asked = new Promise<"stop">((resolve) => {
    process.once("SIGTERM", () => resolve("stop"));
    process.once("disconnect", () => resolve("stop"));
  });
  const end = await Promise.race([asked, cluster.ended]);
  if (end === "stop") {
    await cluster.handOver(AbortSignal.timeout(5_000)).catch(() => undefined);
    await cluster.close();
    return 0;
  }
  log.error(end?.message ?? "the cluster ended");
  return end?.name === "StorageError" ? 11 : 1;
}

process.exit(await main());
