/** Thread of the verification: examines one task at a time, in order. */

import { threadCaller } from "../../../base/index.ts";
import { checkSignature, createVerificationKeys, examineBlock } from "./examine-block.ts";
import type { FromExaminer, Task, ToExaminer } from "./examiner-pool.ts";

const { onMessage, post } = threadCaller<ToExaminer, FromExaminer>();
const keys = createVerificationKeys();

onMessage(({ keys: newKeys, task }) => {
  for (const [kid, raw] of newKeys) keys.add(kid, raw);
  post(perform(task));
});

function perform(task: Task): FromExaminer {
  if (task.kind === "signatures") {
    return { kind: "signatures", results: task.signed.map((each) => checkSignature(each, keys)) };
  }
  const { bytes, firstLine } = task;
  const block = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), firstLine };
  return { kind: "block", lines: examineBlock(block, keys) };
}
