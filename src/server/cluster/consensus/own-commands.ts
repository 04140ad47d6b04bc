/** Proposes commands of the node itself, under its own client id. */

import { randomBytes } from "node:crypto";
import type { Log } from "../../../base/index.ts";
import { type CommandResult, encodeCommand, type Member } from "../../core/state/index.ts";
import { ClusterError } from "../cluster-error.ts";
import { type SubmitPorts, submit } from "./submit.ts";

interface OwnCommands {
  submit(t: string, p: unknown): Promise<CommandResult | undefined>;
  /** Reports the start of this process and its addresses to the cluster; repeats until the report is applied or refused. */
  reportStart(): Promise<void>;
  /** Returns the number that the cluster gave this start; 0 before. */
  incarnation(): number;
}

interface OwnCommandsOptions {
  readonly self: Member;
  readonly ports: SubmitPorts;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called when `incarnation` changed. */
  readonly onStarted: () => void;
}

const TIMEOUT_MS = 10_000;

export function createOwnCommands({ self, ports, log, signal, onStarted }: OwnCommandsOptions): OwnCommands {
  const client = randomBytes(16).toString("hex");
  let sequence = 0;
  let incarnation = 0;

  const submitOwn: OwnCommands["submit"] = async (t, p) => {
    sequence += 1;
    const by = { iss: "gateway", sub: self.id };
    const id = `${client.slice(0, 8)}-${sequence}`;
    const command = encodeCommand({ v: 1, t, id, c: client, s: sequence, by, p });
    // A node that the cluster does not recognize never applies the command, so its effect cannot be awaited here.
    return (await submit(command, TIMEOUT_MS, ports, false)).result;
  };

  return {
    submit: submitOwn,
    incarnation: () => incarnation,
    async reportStart() {
      const { incarnation: _, ...reported } = self;
      while (!signal.aborted && !ports.isRemoved()) {
        try {
          const result = await submitOwn("node.start", reported);
          if (result?.kind === "refused")
            log.error(START_REFUSALS.get(result.code) ?? `${OTHER_REFUSAL}: ${result.message}`);
          if (result?.kind !== "ok") return;
          incarnation = Math.max(incarnation, incarnationIn(result.value));
          onStarted();
          return;
        } catch (error) {
          if (!(error instanceof ClusterError)) throw error;
          log.debug("the start of this node is not recorded yet", { why: error.message });
        }
      }
    },
  };
}

function incarnationIn(value: unknown): number {
  const { incarnation } = (value ?? {}) as { readonly incarnation?: unknown };
  return typeof incarnation === "number" ? incarnation : 0;
}

const OTHER_REFUSAL = "the cluster does not take this node";

const START_REFUSALS: ReadonlyMap<string, string> = new Map([
  [
    "storage_changed",
    "the cluster knows this node with another data directory, so its votes do not count: move this directory away and " +
      "let the node join (cluster.join), or remove the member first",
  ],
  ["not_a_member", "this node is not a member of its cluster: set `cluster.join`, so that it asks to join"],
]);
