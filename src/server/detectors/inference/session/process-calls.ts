/** Calls to a server that the process makes for the thread of a session. */

import { DetectorError } from "../../../core/guardrails/index.ts";
import type { AskServer } from "./served/server-calls.ts";
import type { CallMessage, Failure, SessionWorker, ToSession } from "./session-protocol.ts";

interface ServerCalls {
  readonly onMessage: (message: CallMessage) => void;
  /** Aborts the calls in progress. */
  readonly close: () => void;
}

/** Makes the calls that a thread requests. `server`: sends a call; `undefined` for a graph in memory, which requests none. */
export function createServerCalls(
  worker: Pick<SessionWorker, "postMessage">,
  server: AskServer | undefined,
): ServerCalls {
  const controllers = new Map<number, AbortController>();
  const makeCall = async ({ call, ask }: Extract<CallMessage, { readonly kind: "call" }>): Promise<void> => {
    const controller = new AbortController();
    controllers.set(call, controller);
    let message: ToSession;
    let transfer: readonly ArrayBuffer[] = [];
    try {
      if (server === undefined) throw new DetectorError("failed", "it has no server");
      const answer = await server(ask, controller.signal);
      message = { kind: "answered", call, answer };
      transfer = [answer.body.buffer];
    } catch (error) {
      message = { kind: "unanswered", call, failure: failureOf(error) };
    }
    controllers.delete(call);
    if (!controller.signal.aborted) worker.postMessage(message, transfer);
  };
  return {
    onMessage(message) {
      if (message.kind === "call") void makeCall(message);
      else controllers.get(message.call)?.abort();
    },
    close() {
      for (const controller of controllers.values()) controller.abort();
    },
  };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof DetectorError) || error.kind === "excess") {
    return { kind: "failed", message: "the request to its server failed" };
  }
  return { kind: error.kind, message: error.message };
}
