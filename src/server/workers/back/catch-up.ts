/**
 * Brings the node's lists up to date before an operator reads them: the node asks each worker for what it has not reported yet,
 * so that a request whose answer was seen is in lists that are read after it.
 */
import type { OpenBudgets } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";

/** Time limit in milliseconds; for a busier worker, its last report is used. */
const LIMIT_MS = 200;

/** Answers catch-up requests in a worker. */
export function answerCatchUp(channel: Channel, budgets: Pick<OpenBudgets, "tell">): void {
  channel.answer("told", async () => {
    await budgets.tell();
  });
}

/** Asks a worker from the node; resolves once it has reported everything, within 0.2 s. Never rejects. */
export async function catchUp(channel: Channel): Promise<void> {
  // This message sends what was gathered, and so arrives before the answer.
  channel.send("tell", null, true);
  await channel.ask("told", null, AbortSignal.timeout(LIMIT_MS)).catch(() => undefined);
}
