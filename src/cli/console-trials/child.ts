/**
 * Child process of the console that does one job and exits; it also exits when the console does, for any reason. The
 * content of a pack is compiled and run here, since that can take long, need much memory or never end, and the console
 * must still react to keys.
 */

import { UsageError } from "../flags.ts";
import { type Io, processIo } from "../io.ts";
import type { FromTrial, ToTrial } from "./protocol.ts";

/** Minimum interval between two progress messages, in milliseconds. */
const PROGRESS_MS = 100;

function tell(message: FromTrial): Promise<void> {
  return new Promise((done) => {
    if (process.send === undefined) done();
    else process.send(message, () => done());
  });
}

function progress(): (words: string) => void {
  let sentAt = Number.NEGATIVE_INFINITY;
  return (words) => {
    if (performance.now() - sentAt < PROGRESS_MS) return;
    sentAt = performance.now();
    void tell({ kind: "progress", words });
  };
}

const end = (): void => process.exit();

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function answerTo({ asked, cwd }: ToTrial): Promise<FromTrial> {
  const io: Io = { ...processIo(end), cwd };
  io.signal.addEventListener("abort", end);
  try {
    // Imported dynamically so that the build puts it in a file of its own: paths of bundled files are relative to that
    // file.
    const { carryOut } = await import("./run-trial.ts");
    return { kind: "done", answer: await carryOut(asked, io, progress()) };
  } catch (error) {
    return { kind: error instanceof UsageError ? "refused" : "failed", words: wordsOf(error) };
  }
}

process.once("disconnect", end);
// The parent ends this process once it has the answer.
process.once("message", async (sent: ToTrial) => await tell(await answerTo(sent)));
