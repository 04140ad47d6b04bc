/**
 * A gateway with something of everything that the console lists: providers of which one fails, models, keys, profiles, a
 * budget, a sealed secret; and a console before it, in a terminal, which remembers things in a folder of the test.
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

export interface Scene {
  readonly node: TestNode;
  readonly gateway: Gateway;
  /** Path of the admin socket. */
  readonly socket: string;
  /** Has the provider that fails fail some more. */
  fail(): Promise<void>;
  /** The provider that fails is called so only for a minute after it did. */
  failAgain(): Promise<void>;
}

interface SceneOptions {
  /** Keys of the node file. */
  readonly changes?: Document;
  /** Of the provider that fails. */
  readonly failing?: { readonly apiKey?: string; answer?(sent: readonly (readonly [string, string])[]): string };
  /** Value of the sealed secret. */
  readonly sealed?: string;
}

/** Of the simulator alone, as what the name of this machine resolves to. */
function poolOf(name: string, simulator: Simulator): Document {
  const { base_url: _, ...others } = simProvider(name, simulator);
  const { port } = new URL(simulator.url);
  return { ...others, pool: { service: `http://127.0.0.1:${port}/v1` }, models: ["judge-*"] };
}

export async function startScene(
  owner: Owner,
  { changes = {}, failing = {}, sealed }: SceneOptions = {},
): Promise<Scene> {
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
  /** Beside `-socket`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

export interface SeenConsole extends TestTerminal {
  /** Where it remembers things, and saves files that are named without a folder. */
  readonly home: string;
  /** To the view or whatever `:` takes. */
  command(words: string): Promise<void>;
}

/** Stands in the last line while the editor of the workbench takes all letters; a prompt is left by Esc too. */
export const EDITOR_HINT = /Ctrl-R run.*Esc leave/;

/** Shown in the last line while a prompt that `:` opened takes all letters. */
export const PROMPT = /^ Enter go .*Esc leave/m;

/** `gateway console`; resolves with its first answer of the gateway on the screen unless `awaits` is something else. */
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
  const command = async (words: string): Promise<void> => {
    // What was pressed before may yet open the editor of the workbench, which then takes the colon.
    for (let times = 0; times < 3; times += 1) {
      await leaveEditor(terminal, EDITOR_HINT);
      await terminal.press(":");
      await terminal.until((screen) => PROMPT.test(screen) || EDITOR_HINT.test(screen), "the prompt");
      if (!EDITOR_HINT.test(terminal.screen())) break;
      await terminal.press("backspace");
    }
    terminal.type(words);
    await terminal.press("enter");
  };
  return Object.assign(terminal, { home, command });
}

/**
 * Out of the editor of the workbench, which takes all letters; `shown`: what stands on the screen while it does. Of a
 * statement that runs, the first `Esc` is the end.
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
