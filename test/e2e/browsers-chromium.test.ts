/**
 * Pages of another origin in a real browser: both official SDKs against a gateway with `auth`, and a page that would
 * spend the key of one without. Skipped with the reason if there is no browser.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build } from "esbuild";
import { peer } from "../peers/index.ts";
import { mint, PROVIDER_KEY, startGoverned } from "./governance/support/governed.ts";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { listenLocally } from "./support/ports.ts";
import { simulated } from "./support/simulated.ts";
import { atEnd, type Owner, within } from "./support/wait.ts";

const file = { after };
const chromium = await peer("chromium");
const skip = chromium.missing;
const PROGRAMS = new URL("./programs/", import.meta.url).pathname;
const PAGE_LIMIT_MS = 30_000;

/** Returns the report of a page that is opened under a name other than loopback. */
async function openPage(owner: Owner, program: string, query: Readonly<Record<string, string>>): Promise<PageReport> {
  const bundle = await build({
    entryPoints: [join(PROGRAMS, program)],
    bundle: true,
    keepNames: true,
    write: false,
    platform: "browser",
    format: "esm",
    logLevel: "silent",
  });
  const script = bundle.outputFiles[0]?.text ?? "";
  const server = createServer();
  const reported = new Promise<PageReport>((done) =>
    server.on("request", (request, response) => {
      if (request.url !== "/report") {
        const isScript = request.url === "/page.mjs";
        response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
        response.end(isScript ? script : '<!doctype html><body><script type="module" src="/page.mjs"></script>');
        return;
      }
      let text = "";
      request.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      request.on("end", () => {
        response.end();
        done(JSON.parse(text) as PageReport);
      });
    }),
  );
  const port = await listenLocally(server);
  const profile = await mkdtemp(join(tmpdir(), "gateway-browser-"));
  const browser = spawn(
    chromium.path,
    [
      ...["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"],
      `--user-data-dir=${profile}`,
      "--host-resolver-rules=MAP *.example 127.0.0.1",
      `http://page.example:${port}/?${new URLSearchParams(query)}`,
    ],
    { stdio: "ignore", detached: true },
  );
  atEnd(owner, async () => {
    if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
    server.closeAllConnections();
    server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  return within("the page's report", reported, PAGE_LIMIT_MS);
}

type PageReport = Readonly<Record<string, unknown>>;

const provider = skip === false ? await simulated(file, { requireKey: PROVIDER_KEY }) : undefined;
const deploymentOf = (url: string) => ({
  catalog_overlays: [twoDialects("simulator", url)],
  providers: [{ preset: "simulator", api_key: PROVIDER_KEY, models: ["sim-*"] }],
  mcp: [{ name: "tools", url: `${url}/mcp` }],
});

test("both official SDKs work in a page of another origin", { skip }, async (t) => {
  assert.ok(provider);
  const { node, gateway } = await startGoverned(t, { deployment: deploymentOf(provider.url) });
  const result = await openPage(t, "page-sdks.mjs", { gateway: gateway.url, key: await mint(node, "page") });
  assert.deepEqual(result, {
    "openai: a list of models": true,
    "openai: a chat": 1,
    "openai: a streamed chat": "streamed",
    "openai: a response": "completed",
    "openai: the request's id": "shown",
    "openai: a wrong key": "AuthenticationError 401",
    "openai: a path that is not there": "NotFoundError 404",
    "anthropic: a message": "assistant",
    "anthropic: a streamed message": "streamed",
    "anthropic: a list of models": true,
    "anthropic: the request's id": "shown",
    "anthropic: a wrong key": "AuthenticationError 401",
  });
});

test("a page of another origin cannot spend without a credential", { skip }, async (t) => {
  assert.ok(provider);
  const gateway = await startWithFiles(t, deploymentOf(provider.url));
  const before = provider.counts().requests;
  const result = await openPage(t, "page-hostile.mjs", { gateway: gateway.url });
  assert.equal(provider.counts().requests, before, JSON.stringify(result));
  // Requests without a preflight arrived and were refused.
  assert.deepEqual([result["text/plain"], result["no type"], result["form"]], ["opaque 0", "opaque 0", "submitted"]);
  assert.equal(result["session"], "no answer");
  assert.equal(result["text/plain, read"], "no answer");
  assert.equal(result["json"], "no answer");
});
