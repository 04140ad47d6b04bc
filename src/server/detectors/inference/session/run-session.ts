/** Runs a session in its own process or thread: one graph in memory or on a server, and the tokenizers of its readers. */

import { setPriority } from "node:os";
import { FifoMap, type ThreadCaller } from "../../../../base/index.ts";
import { openGraph } from "./graph.ts";
import { messageOf, type OpenedReader, openReader, type Sequencing, sequencingOf } from "./graph-reader.ts";
import { GraphError } from "./graph-shapes.ts";
import { loadRuntime, loadTokenizers } from "./packages.ts";
import { createServedReader } from "./served/reader.ts";
import { openServedGraph } from "./served/served-graph.ts";
import { CallFailure, createCalls } from "./served/server-calls.ts";
import {
  type Failure,
  type FromSession,
  MAX_READERS,
  type Question,
  type ReaderSpec,
  type SessionProblem,
  type SessionSpec,
  type ToSession,
} from "./session-protocol.ts";
import { openTokenizer, type Tokenizer } from "./tokenizer.ts";

const problemOf = (key: SessionProblem["key"], error: unknown): SessionProblem =>
  error instanceof GraphError ? { key: error.key, message: error.message } : { key, message: messageOf(error) };

/**
 * Lower priority, so that traffic without inspection comes first if processors are scarce. Only on Linux does this
 * apply to the calling thread and those that it starts; on other systems it would apply to the process.
 */
const PRIORITY = 10;

type Open = (sequencing: Sequencing, signal: AbortSignal) => Promise<OpenedReader>;

export function runSession(
  { graph: source, tokenizers: library }: SessionSpec,
  caller: ThreadCaller<ToSession, FromSession>,
): void {
  const send = (message: FromSession, transfer: readonly ArrayBuffer[] = []): void => caller.post(message, transfer);

  const readers = new FifoMap<string, OpenedReader>(MAX_READERS);
  const tokenizers = new Map<string, Promise<Tokenizer>>();
  /** Questions in progress, by id. */
  const current = new Map<number, AbortController>();
  const calls = createCalls(send);

  if (process.platform === "linux") setPriority(0, PRIORITY);

  async function begin(): Promise<void> {
    let opening: SessionProblem["key"] = "library";
    try {
      let open: Open;
      if (source.kind === "served") open = served(source);
      else {
        const loaded = loadRuntime(source.runtime);
        opening = "model";
        const graph = await openGraph(loaded, source.path, source.threads);
        open = (sequencing, signal) => openReader(graph, sequencing, signal);
      }
      send({ kind: "opened", id: 0, problem: undefined });
      caller.onMessage((message) => {
        if (message.kind === "end") end();
        else if (message.kind === "cancel") current.get(message.id)?.abort();
        else if (message.kind === "answered" || message.kind === "unanswered") calls.settle(message);
        else void answer(message, open);
      });
    } catch (error) {
      send({ kind: "opened", id: 0, problem: problemOf(opening, error) });
      end();
    }
  }

  /** Closes the port, which is the only thing that keeps the thread alive. */
  function end(): void {
    for (const controller of current.values()) controller.abort();
    caller.close();
  }

  /**
   * Opens a served graph. The server is called only when there is something to read, so that a configuration is valid
   * whether its servers are up or not.
   */
  function served(source: Extract<SessionSpec["graph"], { readonly kind: "served" }>): Open {
    // The opening is shared and may outlive the request that waits for it; each call has its own limit.
    const { signal } = new AbortController();
    return async (sequencing) => {
      const open = async () => openReader(await openServedGraph(calls.ask, source, signal), sequencing, signal);
      return { kind: "opened", read: createServedReader(open, () => performance.now()) };
    };
  }

  /** Answers a question. For a graph in memory, the caller waits for an answer before it asks again. */
  async function answer(message: Question, open: Open): Promise<void> {
    const { id, reader } = message;
    const controller = new AbortController();
    current.set(id, controller);
    try {
      if (message.kind === "open") {
        const opened = await openedReader(message.spec, open, controller.signal);
        readers.set(reader, opened);
        send({ kind: "opened", id, problem: opened.kind === "refused" ? opened.problem : undefined });
        return;
      }
      const opened = readers.get(reader);
      if (opened?.kind !== "opened") throw new Error("the detector is not open here");
      send({ kind: "found", id, found: await opened.read(message.texts, controller.signal) });
    } catch (error) {
      send({ kind: "failed", id, failure: failureOf(error, controller.signal) });
    } finally {
      current.delete(id);
    }
  }

  async function openedReader(spec: ReaderSpec, open: Open, signal: AbortSignal): Promise<OpenedReader> {
    const tokenizer = await tokenizerOf(spec.tokenizer);
    if ("key" in tokenizer) return { kind: "refused", problem: tokenizer };
    const sequencing = await sequencingOf(tokenizer, spec);
    return "key" in sequencing ? { kind: "refused", problem: sequencing } : open(sequencing, signal);
  }

  /** Returns the tokenizer of a file, shared between the detectors of one model to save memory. */
  async function tokenizerOf(file: string): Promise<Tokenizer | SessionProblem> {
    let failing: SessionProblem["key"] = "tokenizer_library";
    try {
      const loaded = loadTokenizers(library);
      failing = "tokenizer";
      const opened = tokenizers.get(file) ?? openTokenizer(loaded, file);
      tokenizers.set(file, opened);
      return await opened;
    } catch (error) {
      tokenizers.delete(file);
      return problemOf(failing, error);
    }
  }

  void begin();
}

/** Returns the failure for an error, without the runtime's message, which may contain parts of its input. */
function failureOf(error: unknown, signal: AbortSignal): Failure {
  if (signal.aborted) return { kind: "failed", message: "it was abandoned" };
  if (error instanceof CallFailure) return { kind: error.kind, message: error.message };
  return { kind: "failed", message: error instanceof GraphError ? error.message : "the model failed on a text" };
}
