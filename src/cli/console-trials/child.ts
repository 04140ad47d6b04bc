/**
 * Child process of the console that does one job and exits; it also exits when the console does, for any reason. The
 * content of a pack is compiled and run here, since that can take long, need much memory or never end, and the console
 * must still react to keys.
 */

import { UsageError } from "../parse-flags.ts";
import { type Io, processIo } from "../process-io.ts";
import type { TrialCommand, TrialReply } from "./protocol.ts";

/** Minimum interval between two progress messages, in milliseconds. */
const PROGRESS_MS = 100;

function sendToParent(message: TrialReply): Promise<void> {
  return new Promise((done) => {
    if (process.send === undefined) done();
    else process.send(message, () => done());
  });
}

function createProgressSender(): (text: string) => void {
  let sentAt = Number.NEGATIVE_INFINITY;
  return (text) => {
    if (performance.now() - sentAt < PROGRESS_MS) return;
    sentAt = performance.now();
    void sendToParent({ kind: "progress", message: text });
  };
}

const end = (): void => process.exit();

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function replyTo({ request, cwd }: TrialCommand): Promise<TrialReply> {
  const io: Io = { ...processIo(end), cwd };
  io.signal.addEventListener("abort", end);
  try {
    // Imported dynamically so that the build puts it in a file of its own: paths of bundled files are relative to that
    // file.
    const { runTrial } = await import("./run-trial.ts");
    return { kind: "done", answer: await runTrial(request, io, createProgressSender()) };
  } catch (error) {
    return { kind: error instanceof UsageError ? "refused" : "failed", message: messageOf(error) };
  }
}

process.once("disconnect", end);
// The parent ends this process once it has the answer.
process.once("message", async (sent: TrialCommand) => await sendToParent(await replyTo(sent)));
