/**
 * Portkey's open-source gateway as a second yardstick: pinned, installed by npm into the folder of the bench and run there
 * as its authors start it, without any configuration. It forwards to the upstream of the bench by the headers of each
 * request. It is measured and nothing else: no file of it is kept, and none of it is in this repository.
 */

import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../e2e/support/ports.ts";
import { type Piece, startChild, waitForPort } from "./children.ts";

const NAME = "@portkey-ai/gateway";
export const PORTKEY_VERSION = "1.15.2";
const INTEGRITY = "sha512-OuwwQEJ0rnKQuPgaCqyMpP+X5Uly2h9EBDm5Lx/NYu9MXTzB/nKrKgjd8J3vPGeNpYoyxTzKSzTV2tGv8Dd+fg==";
/**
 * The parts of it that decide what a request costs; it leaves their versions open. With later ones of the server it
 * answers every stream with a 500 on Node 20.
 */
const OVERRIDES = { hono: "4.13.19", "@hono/node-server": "1.13.8" };
const INSTALL_TIMEOUT_MS = 120_000;

export type Installed =
  | { readonly kind: "installed"; readonly entry: string }
  | { readonly kind: "missing"; readonly reason: string };

/** Without scripts of any package; from whichever registry npm is configured with. */
export async function installPortkey(folder: string): Promise<Installed> {
  const prefix = join(folder, "portkey");
  const manifest = { private: true, dependencies: { [NAME]: PORTKEY_VERSION }, overrides: OVERRIDES };
  const flags = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  try {
    await mkdir(prefix);
    await writeFile(join(prefix, "package.json"), JSON.stringify(manifest));
    await promisify(execFile)("npm", ["install", "--prefix", prefix, ...flags], {
      cwd: prefix,
      timeout: INSTALL_TIMEOUT_MS,
    });
    const integrity = readIntegrity(await readFile(join(prefix, "package-lock.json"), "utf8"));
    if (integrity !== INTEGRITY) return { kind: "missing", reason: `its integrity is ${integrity ?? "unknown"}` };
    return { kind: "installed", entry: join(prefix, "node_modules", NAME, "build", "start-server.js") };
  } catch (error) {
    return { kind: "missing", reason: firstLine(error) };
  }
}

/** What npm checked the package against, by the lock file that it wrote. */
export function readIntegrity(lock: string): string | undefined {
  const { packages } = JSON.parse(lock) as {
    readonly packages?: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  return packages?.[`node_modules/${NAME}`]?.integrity;
}

/** `loopback`: the compiled piece that keeps it off the network. It gets nothing of our environment but the path. */
export async function startPortkey(entry: string, loopback: string): Promise<Piece> {
  const port = await freePort();
  const args = ["--require", loopback, entry, `--port=${port}`, "--headless"];
  const env = { PATH: process.env["PATH"], NODE_ENV: "production" };
  const child = startChild(process.execPath, args, { env });
  await waitForPort(port, child);
  return Object.assign(child, { port });
}

/** What a request says to it besides. */
export const portkeyHeaders = (upstreamPort: number): Readonly<Record<string, string>> => ({
  "x-portkey-provider": "openai",
  "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
});

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const [line = ""] = text.split("\n").filter((each) => each.includes("npm error"));
  return line === "" ? (text.split("\n", 1)[0] ?? "") : line;
}
