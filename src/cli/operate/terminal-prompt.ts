/** Asks for a confirmation or a hidden value on the terminal. Prompts go to stderr. */

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { UsageError } from "../parse-flags.ts";
import type { Io } from "../process-io.ts";

interface Question {
  /** Text of the prompt, such as `Suspend now? [y/N] `. */
  readonly prompt: string;
  isYes(answer: string): boolean;
  /** Written when the answer is neither yes, no nor empty: the next line of a pasted block, or a wrong name. */
  readonly mismatch?: string;
}

/** Returns whether the operator confirmed. Throws `UsageError` if stdin is not a terminal. */
export async function askToConfirm({ prompt, isYes, mismatch }: Question, io: Io): Promise<boolean> {
  if (!io.isTerminal("stdin"))
    throw new UsageError("stdin is not a terminal, so no confirmation is possible: add -yes");
  const answer = await line(prompt, io, false);
  if (isYes(answer)) return true;
  if (mismatch !== undefined && !/^(?:no?)?$/i.test(answer.trim())) io.stderr.write(`${mismatch}\n`);
  return false;
}

/** Reads one line from the terminal without echo. */
export async function promptHidden(prompt: string, io: Io): Promise<string> {
  const text = await line(prompt, io, true);
  io.stderr.write("\n");
  return text;
}

async function line(prompt: string, io: Io, isUnseen: boolean): Promise<string> {
  io.stderr.write(prompt);
  // Readline echoes to its output stream, so a stream that discards everything hides the typed text.
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const asking = createInterface({ input: io.stdin, output: isUnseen ? unseen : undefined, terminal: isUnseen });
  // Ctrl-D closes the interface without an answer, which counts as no.
  const closed = new Promise<undefined>((done) => asking.once("close", () => done(undefined)));
  let answer: string | undefined;
  try {
    answer = await Promise.race([asking.question("", { signal: io.signal }), closed]);
    return answer ?? "";
  } catch {
    io.signal.throwIfAborted();
    return "";
  } finally {
    // Without an answer the user typed no line end, so the cursor is still on the prompt's line.
    if (answer === undefined) io.stderr.write("\n");
    asking.close();
  }
}
