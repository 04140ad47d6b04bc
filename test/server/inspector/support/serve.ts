/** The service in a process of its own: prints its port, and ends with its stdin. */
import { nullLog } from "../../../../src/base/index.ts";
import { openInspector } from "../../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../../src/server/memory/index.ts";

const { port } = await openInspector({
  address: "127.0.0.1:0",
  mode: "streamed",
  maxMessageBytes: 5 << 20,
  account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 64 << 20 }),
  maxStreams: 2_000,
  maxQuietMs: 60_000,
  maxSilentMs: 60_000,
  begin: () => ({ maxBodyBytes: 4 << 20, inspect: () => Promise.resolve({ kind: "allow" }) }),
  observer: { count: () => undefined, countInspection: () => undefined },
  log: nullLog,
});
process.stdout.write(`${port}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
