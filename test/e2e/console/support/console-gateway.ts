/**
 * A gateway with objects of every kind that the console lists: providers of which one fails, models, keys, profiles, a
 * budget, a sealed secret; and a console in a terminal that stores its preferences in a folder of the test.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Simulator } from "../../../../src/simulator/index.ts";
import { openTerminal, type TestTerminal } from "../../../console/support/terminal.ts";
import type { TestNode } from "../../config/support/nodes.ts";
import { chat, mint, say, simProvider, startGoverned } from "../../governance/support/governed.ts";
import type { Document } from "../../support/config.ts";
import { type Gateway, ONE_PROCESS } from "../../support/gateway.ts";
import { reply, scriptedUpstream } from "../../support/upstream.ts";
import { atEnd, eventually, type Owner } from "../../support/wait.ts";

export const root = resolve(fileURLToPath(import.meta.url), "../../../../..");

export const PROVIDERS = { sound: "acme-chat", failing: "acme-alt", idle: "judge-local" } as const;
export const KEYS = { used: "prod-search", unused: "prod-batch" } as const;
export const SECRET = "vendor-token";

export interface ConsoleGateway {
  readonly node: TestNode;
  readonly gateway: Gateway;
  /** Path of the admin socket. */
  readonly socket: string;
  /** Causes more failures of the failing provider. */
  fail(): Promise<void>;
  /** A provider is shown as failing only for a minute after its last failure. */
  failAgain(): Promise<void>;
}

interface ConsoleGatewayOptions {
  /** Changed keys of the node file. */
  readonly changes?: Document;
  /** Settings of the failing provider. */
  readonly failing?: { readonly apiKey?: string; answer?(sent: readonly (readonly [string, string])[]): string };
  /** Value of the sealed secret. */
  readonly sealed?: string;
}

/** A pool of the simulator alone, resolved from this machine's name. */
function poolOf(name: string, simulator: Simulator): Document {
  const { base_url: _, ...others } = simProvider(name, simulator);
  const { port } = new URL(simulator.url);
  return { ...others, pool: { service: `http://127.0.0.1:${port}/v1` }, models: ["judge-*"] };
}

export async function startConsoleGateway(
  owner: Owner,
  { changes = {}, failing = {}, sealed }: ConsoleGatewayOptions = {},
): Promise<ConsoleGateway> {
  const broken = await scriptedUpstream(owner, (socket, { headers }) =>
    reply(socket, {
      status: 503,
      body: failing.answer?.(headers) ?? JSON.stringify({ error: { message: "overloaded", type: "overloaded_error" } }),
    }),
  );
  const { node, gateway } = await startGoverned(owner, {
    changes,
    env: ONE_PROCESS,
    deployment: (simulator) => ({
      version: 42,
      budgets: [{ name: "team-research", limit: 1_000, window: "day", shared: true }],
      profiles: [
        { name: "standard", budget: "team-research" },
        { name: "batch", allowed_models: ["sim-*"] },
      ],
      mcp: [{ name: "tickets", url: "http://127.0.0.1:9/tickets" }],
      a2a: [{ name: "planner", url: "http://127.0.0.1:9/planner" }],
      guardrails: {
        detectors: [{ name: "finder", type: "pii", prefilter: "pure", apply_to: ["tool_args"] }],
        rules: [{ name: "cards", when: '"pii/CREDIT_CARD" in labels', action: "deny" }],
      },
      providers: [
        { ...simProvider(PROVIDERS.sound, simulator), models: ["sim-*"], model_aliases: { quick: "sim-1" } },
        {
          name: PROVIDERS.failing,
          dialect: "compat",
          base_url: `${broken.url}/v1`,
          api_key: failing.apiKey ?? "the-other-key",
          models: ["alt-*"],
        },
        poolOf(PROVIDERS.idle, simulator),
      ],
      default_provider: PROVIDERS.sound,
    }),
  });
  const key = await mint(node, KEYS.used, { profile: "standard" });
  await mint(node, KEYS.unused, { profile: "batch" });
  await node.client.call("put_secret", { params: { name: SECRET }, body: { value: sealed ?? "a sealed value" } });
  const fail = async (): Promise<void> => {
    for (let each = 0; each < 6; each += 1) await say(gateway, { key, body: chat({ model: "alt-1" }) });
  };
  const failAgain = async (): Promise<void> => {
    await fail();
    await eventually("the failures of a provider", async () => {
      const { items } = await node.client.call("list_backends");
      return items.some(({ name, state }) => name === PROVIDERS.failing && state === "failing");
    });
  };
  for (let each = 0; each < 6; each += 1) await say(gateway, { key });
  await say(gateway, { key: "not-one-of-ours" });
  await failAgain();
  return { node, gateway, socket: join(node.dir, "admin.sock"), fail, failAgain };
}

interface ConsoleOptions {
  readonly socket: string;
  /** Arguments beside `-socket`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

export interface SeenConsole extends TestTerminal {
  /** Directory of its preferences, and of files saved without a folder. */
  readonly home: string;
  /** Types a command after `:`, such as a view. */
  command(text: string): Promise<void>;
}

/** Shown in the last line while the editor of the workbench takes all letters; Esc leaves a prompt too. */
export const EDITOR_HINT = /Ctrl-R run.*Esc leave/;

/** Shown in the last line while a prompt opened with `:` takes all letters. */
export const PROMPT = /^ Enter go .*Esc leave/m;

/**
 * Starts `gateway console`; resolves once the gateway's first answer is on the screen, unless `awaits` is something
 * else.
 */
export async function openConsole(
  owner: Owner,
  { socket, args = [], env = {}, columns = 120, rows = 35 }: ConsoleOptions,
  awaits: string | RegExp = /live \ds/,
): Promise<SeenConsole> {
  const home = await homeOf(owner);
  const terminal = openTerminal(owner, {
    args: consoleArgs(socket, ...args),
    env: { HOME: home, XDG_STATE_HOME: join(home, "state"), ...env },
    cwd: home,
    columns,
    rows,
  });
  await terminal.until(awaits);
  const command = async (text: string): Promise<void> => {
    // An earlier key may still open the editor of the workbench, which then takes the colon.
    for (let times = 0; times < 3; times += 1) {
      await leaveEditor(terminal, EDITOR_HINT);
      await terminal.press(":");
      await terminal.until((screen) => PROMPT.test(screen) || EDITOR_HINT.test(screen), "the prompt");
      if (!EDITOR_HINT.test(terminal.screen())) break;
      await terminal.press("backspace");
    }
    terminal.type(text);
    await terminal.press("enter");
  };
  return Object.assign(terminal, { home, command });
}

/**
 * Leaves the editor of the workbench, which takes all letters; `shown` is on the screen meanwhile. The first `Esc`
 * cancels a running statement.
 */
export async function leaveEditor(terminal: TestTerminal, shown: RegExp): Promise<void> {
  await terminal.settled();
  for (let times = 0; times < 3 && shown.test(terminal.screen()); times += 1) {
    await terminal.press("esc");
    await terminal.settled();
  }
}

export const consoleArgs = (socket: string, ...more: readonly string[]): readonly string[] => [
  join(root, "bin/gateway"),
  "console",
  "-socket",
  socket,
  ...more,
];

export async function homeOf(owner: Owner): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "gateway-console-"));
  atEnd(owner, () => rm(home, { recursive: true, force: true }));
  return home;
}
