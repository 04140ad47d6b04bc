/** Confirmations: which answers are yes, and what a line says that was meant as the next command. */

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { askToConfirm } from "../../src/cli/operate/terminal-prompt.ts";
import { bufferIo } from "./buffer-io.ts";

const QUESTION = { prompt: "Lift now? [y/N] ", isYes: (answer: string) => answer === "y", mismatch: "Neither." };

for (const [answer, isYes, message] of [
  ["y", true, ""],
  ["n", false, ""],
  ["No", false, ""],
  ["", false, ""],
  ["gateway unack provider:openai", false, "Neither.\n"],
] as const) {
  test(`the answer ${JSON.stringify(answer)} is ${isYes ? "yes" : "no"}${message === "" ? "" : ", and is named as a mistake"}`, async () => {
    const io = bufferIo({ isTerminal: () => true, stdin: Readable.from([`${answer}\n`]) });
    assert.equal(await askToConfirm(QUESTION, io), isYes);
    assert.equal(io.err(), `Lift now? [y/N] ${message}`);
  });
}
