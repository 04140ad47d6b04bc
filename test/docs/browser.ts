/** A headless Chromium of this machine, by its DevTools protocol; nothing is installed for it. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";

const START_MS = 60_000;
const CALL_MS = 30_000;

interface View {
  readonly url: string;
  readonly width: number;
  readonly scripts: boolean;
  readonly dark?: boolean;
}

interface Browser {
  /** Returns the value of the expression once the page has loaded; `then` runs before it. */
  measure(view: View, expression: string): Promise<unknown>;
  /** Returns a PNG of the whole page, at most 4,000 pixels high. */
  picture(view: View): Promise<Buffer>;
  close(): Promise<void>;
}

export async function openBrowser(path: string): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), "gateway-docs-"));
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
    "--no-first-run",
    "about:blank",
  ];
  const child = spawn(path, flags, { stdio: ["ignore", "ignore", "pipe"] });
  const socket = new WebSocket(await addressOf(child));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const waiting = new Map<number, (answer: Record<string, unknown>) => void>();
  const events: { readonly method: string; readonly sessionId: string; readonly seen: () => void }[] = [];
  let last = 0;
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(String(data)) as Record<string, unknown>;
    if (typeof message["id"] === "number") waiting.get(message["id"])?.(message);
    for (const [at, event] of events.entries()) {
      if (event.method !== message["method"] || event.sessionId !== message["sessionId"]) continue;
      events.splice(at, 1);
      event.seen();
      break;
    }
  });
  const call = (method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> =>
    limited(
      method,
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, (answer) => {
          waiting.delete(id);
          if (answer["error"] === undefined) resolve(answer["result"] as Record<string, unknown>);
          else reject(new Error(`${method}: ${JSON.stringify(answer["error"])}`));
        });
        socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }));
      }),
    );
  const opened = async ({
    url,
    width,
    scripts,
    dark = false,
  }: View): Promise<{ sessionId: string; targetId: string }> => {
    const { targetId } = (await call("Target.createTarget", { url: "about:blank" })) as { targetId: string };
    const { sessionId } = (await call("Target.attachToTarget", { targetId, flatten: true })) as { sessionId: string };
    await call("Page.enable", {}, sessionId);
    await call(
      "Emulation.setDeviceMetricsOverride",
      { width, height: 800, deviceScaleFactor: 1, mobile: false },
      sessionId,
    );
    await call(
      "Emulation.setEmulatedMedia",
      { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] },
      sessionId,
    );
    await call("Emulation.setScriptExecutionDisabled", { value: !scripts }, sessionId);
    const loaded = limited(
      "load",
      new Promise<void>((seen) => events.push({ method: "Page.loadEventFired", sessionId, seen })),
    );
    await call("Page.navigate", { url }, sessionId);
    await loaded;
    return { sessionId, targetId };
  };
  return {
    async measure(view, expression) {
      const { sessionId, targetId } = await opened(view);
      const { result } = (await call(
        "Runtime.evaluate",
        { expression, returnByValue: true, awaitPromise: true },
        sessionId,
      )) as { result: { value: unknown } };
      await call("Target.closeTarget", { targetId });
      return result.value;
    },
    async picture(view) {
      const { sessionId, targetId } = await opened(view);
      const { data } = (await call("Page.captureScreenshot", { format: "png" }, sessionId)) as { data: string };
      await call("Target.closeTarget", { targetId });
      return Buffer.from(data, "base64");
    },
    async close() {
      socket.terminate();
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return limited(
    "start of the browser",
    new Promise((resolve, reject) => {
      let output = "";
      child.stderr?.on("data", (part: Buffer) => {
        output += String(part);
        const address = /DevTools listening on (ws:\S+)/.exec(output)?.[1];
        if (address !== undefined) resolve(address);
      });
      child.once("exit", () => reject(new Error(`the browser ended: ${output.slice(-400)}`)));
      child.once("error", reject);
    }),
    START_MS,
  );
}

async function limited<Thing>(what: string, work: Promise<Thing>, ms = CALL_MS): Promise<Thing> {
  const timer = new AbortController();
  const late = new Promise<never>((_, reject) => {
    const at = setTimeout(() => reject(new Error(`${what}: no answer within ${ms} ms`)), ms);
    timer.signal.addEventListener("abort", () => clearTimeout(at));
  });
  return await Promise.race([work, late]).finally(() => timer.abort());
}
