/** Calls to a server for a session's thread, made by the process, which has the connections and credentials. */

import type { CallMessage, Failure, ServerAnswer, ServerAsk, ToSession } from "../session-protocol.ts";

/** Function that makes a call. Rejects with a `CallFailure`, or with the signal's reason. */
export type AskServer = (ask: ServerAsk, signal: AbortSignal) => Promise<ServerAnswer>;

export class CallFailure extends Error {
  readonly kind: Failure["kind"];
  constructor({ kind, message }: Failure) {
    super(message);
    this.kind = kind;
  }
}

interface Calls {
  readonly ask: AskServer;
  readonly settle: (message: Extract<ToSession, { readonly kind: "answered" | "unanswered" }>) => void;
}

export function createCalls(post: (message: CallMessage, transfer: readonly ArrayBuffer[]) => void): Calls {
  const waiting = new Map<number, { resolve(answer: ServerAnswer): void; reject(error: Error): void }>();
  let calls = 0;
  return {
    ask(ask, signal) {
      signal.throwIfAborted();
      const call = ++calls;
      return new Promise<ServerAnswer>((resolve, reject) => {
        const onAbort = (): void => {
          waiting.delete(call);
          post({ kind: "hang-up", call }, []);
          reject(signal.reason as Error);
        };
        const settled = (): void => {
          waiting.delete(call);
          signal.removeEventListener("abort", onAbort);
        };
        waiting.set(call, {
          resolve(answer) {
            settled();
            resolve(answer);
          },
          reject(error) {
            settled();
            reject(error);
          },
        });
        signal.addEventListener("abort", onAbort, { once: true });
        post({ kind: "call", call, ask }, ask.body === null ? [] : [ask.body.buffer]);
      });
    },
    settle(message) {
      const one = waiting.get(message.call);
      if (message.kind === "answered") one?.resolve(message.answer);
      else one?.reject(new CallFailure(message.failure));
    },
  };
}
