/**
 * A process that works one thing out for a console and ends; it ends with its console too, however that ends. What a pack
 * brings is compiled and run here: it may take long, take much memory or never end, and no key waits for it.
 */

import { UsageError } from "../flags.ts";
import { type Io, processIo } from "../io.ts";
import type { FromTrial, ToTrial } from "./protocol.ts";

/** Between two of its lines. */
const PROGRESS_MS = 100;

function tell(told: FromTrial): Promise<void> {
  return new Promise((done) => {
    if (process.send === undefined) done();
    else process.send(told, () => done());
  });
}

function progress(): (words: string) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (words) => {
    if (performance.now() - toldAt < PROGRESS_MS) return;
    toldAt = performance.now();
    void tell({ kind: "progress", words });
  };
}

const end = (): void => process.exit();

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function answerTo({ asked, cwd }: ToTrial): Promise<FromTrial> {
  const io: Io = { ...processIo(end), cwd };
  io.signal.addEventListener("abort", end);
  try {
    // A chunk of its own: paths of what comes with the program are taken from there.
    const { carryOut } = await import("./run-trial.ts");
    return { kind: "done", answer: await carryOut(asked, io, progress()) };
  } catch (error) {
    return { kind: error instanceof UsageError ? "refused" : "failed", words: wordsOf(error) };
  }
}

process.once("disconnect", end);
// The parent ends this process once it has the answer.
process.once("message", async (sent: ToTrial) => await tell(await answerTo(sent)));
