/**
 * The pieces of the bench as plain JavaScript in a temporary folder. They run without a loader, so that the bare proxy
 * is measured like the gateway: one compiled file, no hooks, no source maps.
 */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { removeAtEnd } from "./children.ts";

export interface Pieces {
  readonly folder: string;
  readonly upstream: string;
  readonly bareProxy: string;
  readonly load: string;
  readonly steadyLoad: string;
  readonly probe: string;
  readonly loopback: string;
  readonly handshakes: string;
  readonly emptyProcessor: string;
}

const PIECES: readonly string[] = [
  ...["upstream", "bare-proxy", "load", "steady-load", "pacer", "loopback", "probe", "handshakes", "empty-processor"],
];

export async function compilePieces(): Promise<Pieces> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  removeAtEnd(folder);
  const source = fileURLToPath(new URL("../child/", import.meta.url));
  await build({
    entryPoints: PIECES.map((name) => join(source, `${name}.ts`)),
    outdir: folder,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    outExtension: { ".js": ".cjs" },
    logLevel: "error",
  });
  return {
    folder,
    upstream: join(folder, "upstream.cjs"),
    bareProxy: join(folder, "bare-proxy.cjs"),
    load: join(folder, "load.cjs"),
    steadyLoad: join(folder, "steady-load.cjs"),
    probe: join(folder, "probe.cjs"),
    loopback: join(folder, "loopback.cjs"),
    handshakes: join(folder, "handshakes.cjs"),
    emptyProcessor: join(folder, "empty-processor.cjs"),
  };
}
