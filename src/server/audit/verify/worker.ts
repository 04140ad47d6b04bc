/** A thread of the verification: examines what it is given, one task at a time, in order. */

import { parentPort } from "node:worker_threads";
import { checkSignature, createKeys, examineBlock } from "./examine.ts";
import type { FromExaminer, Task, ToExaminer } from "./pool.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the main of a worker thread");

const keys = createKeys();

port.on("message", ({ keys: told, task }: ToExaminer) => {
  for (const [kid, raw] of told) keys.add(kid, raw);
  port.postMessage(perform(task));
});

function perform(task: Task): FromExaminer {
  if (task.kind === "signatures") {
    return { kind: "signatures", results: task.signed.map((each) => checkSignature(each, keys)) };
  }
  const { bytes, firstLine } = task;
  const block = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), firstLine };
  return { kind: "block", lines: examineBlock(block, keys) };
}
