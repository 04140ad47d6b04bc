/** Looks up items of responses across the processes of a node: a query to the node goes to each of them. */
import { anySignal } from "../../../base/index.ts";
import type { ClusterStatus } from "../../cluster/index.ts";
import type { OtherNodes } from "../../dataplane/index.ts";
import type { Channel } from "../../workers/index.ts";

/** Returns the ids of this node and of the members that it has a connection to. */
export function reachableMembers({ members }: ClusterStatus): readonly string[] {
  return members.filter(({ state }) => state !== "silent").map(({ id }) => id);
}

export interface MemberQuestion {
  readonly id: string;
  readonly question: unknown;
  readonly timeoutMs: number;
}

/** Returns the nodes that a worker asks through its node process: the other nodes, and its own for its sibling processes. */
export function followOtherNodes(channel: Channel): OtherNodes {
  let ids: readonly string[] = [];
  channel.on("members", (body) => {
    ids = body as readonly string[];
  });
  return {
    nodeIds: () => ids,
    async ask(id, question, { timeoutMs, signal }) {
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        const asked = { id, question, timeoutMs } satisfies MemberQuestion;
        const answer = await channel.ask("member", asked, anySignal([signal, limit]));
        return typeof answer === "string" ? Buffer.from(answer, "base64") : undefined;
      } catch (error) {
        if (signal.aborted) throw error;
        return undefined;
      }
    },
  };
}

/** Merges several answers: lists of items are joined, and an action succeeded if it did in one. */
export function mergeAnswers(answers: readonly Uint8Array[]): Uint8Array | undefined {
  const [first, ...rest] = answers;
  if (first === undefined || rest.length === 0) return first;
  const values: readonly unknown[] = answers.map((answer) => JSON.parse(Buffer.from(answer).toString()));
  if (values.every(Array.isArray)) return Buffer.from(JSON.stringify(values.flat()));
  return Buffer.from(JSON.stringify(values.includes(true)));
}
