/**
 * What operators read is of a moment that they may choose: before a read the node asks each worker for what it has not told
 * yet, so that a request whose answer was seen is in the lists that are read after it.
 */
import type { OpenBudgets } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";

/** A worker that is busier is read as it told last. */
const LIMIT_MS = 200;

/** Of the worker. */
export function answerCatchUp(channel: Channel, budgets: Pick<OpenBudgets, "tell">): void {
  channel.answer("told", async () => {
    await budgets.tell();
  });
}

/** Of the node: resolves once the worker has told all that it had, 0.2 s at the latest. Never rejects. */
export async function catchUp(channel: Channel): Promise<void> {
  // What is gathered goes out by this, and so before the answer.
  channel.send("tell", null, true);
  await channel.ask("told", null, AbortSignal.timeout(LIMIT_MS)).catch(() => undefined);
}
