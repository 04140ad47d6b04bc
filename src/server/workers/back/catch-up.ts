/**
 * Updates the node's lists before an operator reads them. The node asks each worker for unreported data, so that a request
 * appears in every list that is read after its answer.
 */
import type { OpenBudgets } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";

/** Time limit in milliseconds. For a busier worker, its last report is used. */
const LIMIT_MS = 200;

/** Answers catch-up requests in a worker. */
export function answerCatchUp(channel: Channel, budgets: Pick<OpenBudgets, "reportNow">): void {
  channel.answer("flushed", async () => {
    await budgets.reportNow();
  });
}

/** Asks a worker to report everything. Resolves once it has, at the latest after 0.2 s. Never rejects. */
export async function catchUp(channel: Channel): Promise<void> {
  // This message makes the worker send its gathered data, which therefore arrives before the answer.
  channel.send("flush", null, true);
  await channel.ask("flushed", null, AbortSignal.timeout(LIMIT_MS)).catch(() => undefined);
}
