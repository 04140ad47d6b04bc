/**
 * LiteLLM's proxy, one worker, with its own model and key. Budgets are omitted, since it keeps them in a database.
 * Needs a Python with `venv`.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../e2e/support/ports.ts";
import { startChild, waitForPort } from "./children.ts";
import { type ForeignGateway, install } from "./foreign.ts";

const VERSION = "1.106.0";
/** Dependencies that decide its cost per request, whose versions it leaves open. */
const BESIDE = ["fastapi==0.165.0", "starlette==1.10.0", "uvicorn==0.54.0", "aiohttp==3.14.5", "httpx==0.28.1"];
const KEY = "sk-bench-client";

export const LITELLM: ForeignGateway = {
  share: 0.02,
  async install(folder) {
    const prefix = join(folder, "litellm");
    await mkdir(prefix);
    await install("python3", ["-m", "venv", "env"], prefix);
    const flags = ["--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"];
    const program = (name: string): string => join(prefix, "env", "bin", name);
    await install(
      program("python"),
      ["-m", "pip", "install", ...flags, `litellm[proxy]==${VERSION}`, ...BESIDE],
      prefix,
    );
    const credentials = join(prefix, "credentials");
    await writeFile(credentials, `${KEY}\n`);
    return {
      async start({ upstreamPort, model }) {
        const port = await freePort();
        const file = join(prefix, `config-${port}.json`);
        await writeFile(file, JSON.stringify(configurationOf(upstreamPort, model)));
        const address = ["--host", "127.0.0.1", "--port", String(port)];
        const child = startChild(program("litellm"), ["--config", file, ...address, "--num_workers", "1"], {
          cwd: prefix,
          // Uses its included prices; otherwise it downloads newer ones at its start.
          env: { PATH: process.env["PATH"], HOME: prefix, LITELLM_LOG: "ERROR", LITELLM_LOCAL_MODEL_COST_MAP: "True" },
        });
        await waitForPort(port, child);
        return Object.assign(child, { port });
      },
      asked: (shape) => ({ ...shape, credentials }),
    };
  },
};

/** JSON is YAML. */
const configurationOf = (upstreamPort: number, model: string) => ({
  model_list: [
    {
      model_name: model,
      litellm_params: {
        model: `openai/${model}`,
        api_base: `http://127.0.0.1:${upstreamPort}/v1`,
        api_key: "bench-upstream-credential",
      },
    },
  ],
  general_settings: { master_key: KEY },
});
