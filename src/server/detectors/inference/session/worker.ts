/** The thread of a session: one graph in memory, the tokenizers of those who read with it, one thing at a time. */

import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { type Graph, GraphError, openGraph } from "./graph.ts";
import { loadRuntime, loadTokenizers } from "./packages.ts";
import {
  type FromSession,
  MOST_READERS,
  type Question,
  type SessionProblem,
  type SessionSpec,
  type ToSession,
} from "./protocol.ts";
import { messageOf, type OpenedReader, openReader } from "./reading.ts";
import { openTokenizer, type Tokenizer } from "./tokenizer.ts";

const { graph: path, threads, runtime, tokenizers: library } = workerData as SessionSpec;
const port = parentPort;
if (port === null) throw new Error("this is a module of a thread");

const tell = (message: FromSession): void => port.postMessage(message);

const readers = new Map<string, OpenedReader>();
const tokenizers = new Map<string, Promise<Tokenizer>>();
let current: { readonly id: number; readonly controller: AbortController } | undefined;

const problemOf = (key: SessionProblem["key"], error: unknown): SessionProblem =>
  error instanceof GraphError ? { key: error.key, message: error.message } : { key, message: messageOf(error) };

/**
 * Whoever is not inspected comes first where processors are scarce. On Linux alone this is of the thread that calls, and of
 * those that it starts; elsewhere it would be of the process.
 */
const PRIORITY = 10;
if (process.platform === "linux") setPriority(0, PRIORITY);

async function begin(): Promise<void> {
  let opening: SessionProblem["key"] = "library";
  try {
    const loaded = loadRuntime(runtime);
    opening = "model";
    const graph = await openGraph(loaded, path, threads);
    tell({ kind: "opened", id: 0, problem: undefined });
    port?.on("message", (message: ToSession) => {
      if (message.kind === "end") end();
      else if (message.kind !== "cancel") void answer(message, graph);
      else if (current?.id === message.id) current.controller.abort();
    });
  } catch (error) {
    tell({ kind: "opened", id: 0, problem: problemOf(opening, error) });
    end();
  }
}

/** Nothing else keeps the thread. */
function end(): void {
  current?.controller.abort();
  port?.close();
}

/** Whoever asks waits for an answer before asking again. */
async function answer(message: Question, graph: Graph): Promise<void> {
  const { id, reader } = message;
  const controller = new AbortController();
  current = { id, controller };
  try {
    if (message.kind === "open") {
      const tokenizer = await tokenizerOf(message.spec.tokenizer);
      if ("key" in tokenizer) {
        tell({ kind: "opened", id, problem: tokenizer });
        return;
      }
      const opened = await openReader(graph, tokenizer, message.spec, controller.signal);
      readers.set(reader, opened);
      if (readers.size > MOST_READERS) readers.delete(readers.keys().next().value as string);
      tell({ kind: "opened", id, problem: opened.kind === "refused" ? opened.problem : undefined });
      return;
    }
    const opened = readers.get(reader);
    if (opened?.kind !== "opened") throw new Error("the detector is not open here");
    tell({ kind: "found", id, found: await opened.read(message.texts, controller.signal) });
  } catch {
    // What the runtime says may hold parts of what it was fed.
    tell({ kind: "failed", id, message: controller.signal.aborted ? "it was given up" : "the model failed on a text" });
  } finally {
    current = undefined;
  }
}

/** Detectors of one model share its tokenizer, which takes memory. */
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
