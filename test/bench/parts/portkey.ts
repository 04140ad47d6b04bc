/**
 * Portkey's open-source gateway, started without configuration: the headers of each request make it forward to the
 * bench's upstream.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../e2e/support/ports.ts";
import { startChild, waitForPort } from "./children.ts";
import { type ForeignGateway, install } from "./foreign.ts";

const NAME = "@portkey-ai/gateway";
const VERSION = "1.15.2";
const INTEGRITY = "sha512-OuwwQEJ0rnKQuPgaCqyMpP+X5Uly2h9EBDm5Lx/NYu9MXTzB/nKrKgjd8J3vPGeNpYoyxTzKSzTV2tGv8Dd+fg==";
/**
 * Dependencies that decide its cost per request, whose versions it leaves open. With later versions of the server it
 * answers every stream with a 500 on Node 20.
 */
const OVERRIDES = { hono: "4.13.19", "@hono/node-server": "1.13.8" };

export const PORTKEY: ForeignGateway = {
  share: 0.1,
  async install(folder) {
    const prefix = join(folder, "portkey");
    const manifest = { private: true, dependencies: { [NAME]: VERSION }, overrides: OVERRIDES };
    await mkdir(prefix);
    await writeFile(join(prefix, "package.json"), JSON.stringify(manifest));
    // Without package scripts.
    const flags = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"];
    await install("npm", ["install", "--prefix", prefix, ...flags], prefix);
    const integrity = readIntegrity(await readFile(join(prefix, "package-lock.json"), "utf8"));
    if (integrity !== INTEGRITY) throw new Error(`its integrity is ${integrity ?? "unknown"}`);
    const entry = join(prefix, "node_modules", NAME, "build", "start-server.js");
    return {
      async start({ loopback }) {
        const port = await freePort();
        const args = ["--require", loopback, entry, `--port=${port}`, "--headless"];
        const child = startChild(process.execPath, args, {
          env: { PATH: process.env["PATH"], NODE_ENV: "production" },
        });
        await waitForPort(port, child);
        return Object.assign(child, { port });
      },
      asked: (shape, upstreamPort) => ({
        ...shape,
        headers: {
          "x-portkey-provider": "openai",
          "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
        },
      }),
    };
  },
};

/** Returns the integrity that npm checked, from the lock file that it wrote. */
export function readIntegrity(lock: string): string | undefined {
  const { packages } = JSON.parse(lock) as {
    readonly packages?: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  return packages?.[`node_modules/${NAME}`]?.integrity;
}
