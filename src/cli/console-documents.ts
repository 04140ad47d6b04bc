/**
 * Lets the console try changes of a document (packs, a threshold) before they are written. If a file on this machine
 * owns the document, the change is written to that file with `version` raised, since a node rejects a different text
 * with the same version. Longer work runs in a child process, so that it does not delay frames.
 */

import { stat } from "node:fs/promises";
import type { ConsolePorts } from "../console/index.ts";
import { runInChild } from "./console-trials/run-in-child.ts";
import { UsageError } from "./parse-flags.ts";
import { type Io, resolvePath } from "./process-io.ts";

const SILENT = { onProgress: () => undefined };

export function createDocumentPorts(io: Io): ConsolePorts["documents"] {
  return {
    packs: (document, paths, signal) =>
      runInChild<"packs">({ kind: "packs", document, paths }, io, { signal, ...SILENT }),
    tryPack: (document, names, options) => runInChild<"pack">({ kind: "pack", document, names }, io, options),
    tryThreshold: (document, to, signal) =>
      runInChild<"threshold">({ kind: "threshold", document, ...to }, io, { signal, ...SILENT }),
    async withRaisedVersion(before, after) {
      const { raisedVersion } = await import("./console-trials/owned-document.ts");
      return raisedVersion(before, after);
    },
    async stampOf(file) {
      const found = await stat(resolvePath(io, file)).catch(() => undefined);
      return found === undefined ? "" : [found.ino, found.size, found.mtimeMs, found.mode].join();
    },
    async sweep(documents, argumentText, options) {
      const { runSweepInProcess } = await import("./console-sweep.ts");
      return await runSweepInProcess(documents, argumentText, options, io);
    },
    async write({ file, text, after }, signal) {
      if (file === undefined) throw new Error("no file owns the document");
      // Loaded only here, so that the first frame does not wait for the modules that read documents.
      const { openDeployment } = await import("./packs/pack-target-file.ts");
      const { whyFileDiffers } = await import("./console-trials/owned-document.ts");
      const opened = await openDeployment(file, true, { ...io, signal });
      const problem = whyFileDiffers(opened, file, text);
      if (problem !== undefined) throw new UsageError(problem);
      signal.throwIfAborted();
      await opened.write(after);
    },
  };
}
