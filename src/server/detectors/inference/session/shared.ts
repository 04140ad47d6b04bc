/**
 * Sessions in another process of this machine: a graph is in memory once, however many processes inspect. Questions and
 * answers can be sent as JSON.
 */

import { DetectorError } from "../../../core/guardrails/index.ts";
import type { FindingsByText, Session } from "./session.ts";
import type { Failure, ReaderSpec, SessionProblem, SessionSpec } from "./session-protocol.ts";

export interface SessionQuestion {
  readonly session: SessionSpec;
  readonly name: string;
  readonly reader: ReaderSpec;
  /** Texts to read; if omitted, the reader is only opened. */
  readonly texts?: readonly string[];
}

export type SessionAnswer =
  | { readonly kind: "opened"; readonly problem?: SessionProblem | undefined }
  | { readonly kind: "found"; readonly found: FindingsByText }
  | { readonly kind: "failed"; readonly failure: Failure };

/** Function that asks the other process. Rejects with the signal's reason, or if there is no process to answer. */
export type AskSession = (question: SessionQuestion, signal: AbortSignal) => Promise<SessionAnswer>;

/** Returns whether the graph is in memory: a graph on a server is called directly by each process. */
export const isShared = ({ graph }: SessionSpec): boolean => graph.kind === "file";

/** Returns a session whose process, reached by `ask`, controls its lifetime. */
export function sharedSession(session: SessionSpec, ask: AskSession): Session {
  const asked = async (question: SessionQuestion, signal: AbortSignal): Promise<Exclude<SessionAnswer, Failed>> => {
    let answer: SessionAnswer;
    try {
      answer = await ask(question, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new DetectorError(
        "failed",
        `the model's process: ${error instanceof Error ? error.message : "it is gone"}`,
      );
    }
    if (answer.kind !== "failed") return answer;
    throw new DetectorError(answer.failure.kind, answer.failure.message);
  };
  return {
    async open(name, reader, signal) {
      const answer = await asked({ session, name, reader }, signal);
      return answer.kind === "opened" ? answer.problem : undefined;
    },
    async read(name, reader, texts, signal) {
      const answer = await asked({ session, name, reader, texts }, signal);
      if (answer.kind === "found") return answer.found;
      throw new DetectorError("failed", "the model gave no answer");
    },
    isIdle: true,
    waiting: 0,
    end() {},
  };
}

type Failed = Extract<SessionAnswer, { readonly kind: "failed" }>;

/** Returns a function that answers with the sessions of this process. `of` returns the session of a spec. */
export function answerWith({ of }: { readonly of: (spec: SessionSpec) => Session }): AskSession {
  return async ({ session, name, reader, texts }, signal) => {
    try {
      const own = of(session);
      if (texts === undefined) return { kind: "opened", problem: await own.open(name, reader, signal) };
      return { kind: "found", found: await own.read(name, reader, texts, signal) };
    } catch (error) {
      if (!(error instanceof DetectorError) || error.kind === "excess") throw error;
      return { kind: "failed", failure: { kind: error.kind, message: error.message } };
    }
  };
}
