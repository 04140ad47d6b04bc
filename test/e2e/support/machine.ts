/** Machine facts for process tests: memory, and a trusted certificate file. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_CERTIFICATE } from "../../server/dataplane/hops/websocket/certificate.ts";
import { atEnd, type Owner } from "./wait.ts";

/** Returns bytes of a process: resident now (`VmRSS`), or the maximum so far (`VmHWM`). `undefined` without /proc. */
export function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number | undefined {
  if (process.platform !== "linux") return undefined;
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(found?.[1]) * 1024;
}

/** Returns the environment of a gateway that trusts the tests' certificate. */
export async function trusting(owner: Owner): Promise<Readonly<Record<string, string>>> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-e2e-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const path = join(dir, "trusted.pem");
  await writeFile(path, TEST_CERTIFICATE);
  return { NODE_EXTRA_CA_CERTS: path };
}
