/**
 * A process that renews: for each line on stdin it requests the token of the gateway in its argument, and prints the
 * result. Run by `processes.test.ts`.
 */

import { createInterface } from "node:readline";
import { createTokenSource } from "../../../src/cli/sign-in/index.ts";
import { bufferIo } from "../buffer-io.ts";

const [url = ""] = process.argv.slice(2);
const io = bufferIo({ env: process.env, now: () => Date.now() });

process.stdout.write("ready\n");
for await (const _ of createInterface({ input: process.stdin })) {
  const outcome = await createTokenSource(io, url)
    .token()
    .catch((error: unknown) => `failed: ${String(error)}`);
  process.stdout.write(`${outcome}\n`);
}
