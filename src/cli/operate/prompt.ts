/** Questions on the terminal: a confirmation, and a value that is typed unseen. Both are written to stderr. */

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { UsageError } from "../flags.ts";
import type { Io } from "../io.ts";

interface Question {
  /** `Suspend now? [y/N] ` */
  readonly prompt: string;
  isYes(answer: string): boolean;
}

/** Resolves with whether the operator confirmed. Throws `UsageError` where stdin is no terminal. */
export async function askToConfirm({ prompt, isYes }: Question, io: Io): Promise<boolean> {
  if (!io.isTerminal("stdin"))
    throw new UsageError("stdin is not a terminal, so no confirmation is possible: add -yes");
  return isYes(await line(prompt, io, false));
}

/** One line that is typed on the terminal and not shown. */
export async function promptHidden(prompt: string, io: Io): Promise<string> {
  const text = await line(prompt, io, true);
  io.stderr.write("\n");
  return text;
}

async function line(prompt: string, io: Io, isUnseen: boolean): Promise<string> {
  io.stderr.write(prompt);
  // An interface without echo: what it would write is dropped.
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const asking = createInterface({ input: io.stdin, output: isUnseen ? unseen : undefined, terminal: isUnseen });
  // Ctrl-D closes it without an answer, which is no.
  const closed = new Promise<undefined>((done) => asking.once("close", () => done(undefined)));
  let answer: string | undefined;
  try {
    answer = await Promise.race([asking.question("", { signal: io.signal }), closed]);
    return answer ?? "";
  } catch {
    io.signal.throwIfAborted();
    return "";
  } finally {
    // Nobody has typed a line end.
    if (answer === undefined) io.stderr.write("\n");
    asking.close();
  }
}
