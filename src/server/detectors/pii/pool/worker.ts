/** Thread that scans long texts with the recognizers of each configuration that uses it. */
import { runInSlices, threadCaller } from "../../../../base/index.ts";
import { DetectorError, MAX_RAW_FINDINGS } from "../../../core/guardrails/index.ts";
import { compilePii } from "../compile-pii.ts";
import type { Scan } from "../pii-scan.ts";
import { warmUp } from "../warm-up.ts";
import { pack } from "./packed.ts";
import type { FromScanner, ToScanner } from "./scan-protocol.ts";

const { onMessage, post } = threadCaller<ToScanner, FromScanner>();
const scans = new Map<string, Scan>();

onMessage((message) => {
  if (message.kind === "compile") {
    const compiled = compilePii(message.config, message.usesContext);
    if (compiled.kind !== "compiled") return;
    const { recognizers, scan } = compiled;
    scans.set(message.scan, scan);
    runInSlices(warmUp(recognizers, scan), () => scans.get(message.scan) !== scan);
  } else if (message.kind === "forget") scans.delete(message.scan);
  else {
    const answer = answerTo(scans.get(message.scan), message.texts);
    const isFound = answer.kind === "found";
    post(answer, isFound ? [answer.packed.counts.buffer, answer.packed.places.buffer] : []);
  }
});

function answerTo(scan: Scan | undefined, texts: readonly string[]): FromScanner {
  if (scan === undefined) return { kind: "failed", error: "the thread could not compile its recognizers" };
  try {
    const detection = texts.map(scan);
    const count = detection.reduce((sum, { length }) => sum + length, 0);
    return count > MAX_RAW_FINDINGS ? { kind: "excess" } : { kind: "found", packed: pack(detection) };
  } catch (error) {
    if (error instanceof DetectorError && error.kind === "excess") return { kind: "excess" };
    return { kind: "failed", error: `the thread's scan failed: ${error instanceof Error ? error.name : "unknown"}` };
  }
}
