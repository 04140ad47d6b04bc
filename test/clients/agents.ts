/**
 * Six agents and command lines with their defaults, each with a gateway and a simulated provider of either dialect: the
 * answer of each, and its requests.
 *
 * node --import tsx test/clients/agents.ts [-only NAME[,NAME…]]
 *
 * Programs are found in the peer cache, or installed there; an unavailable one is skipped with the reason.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { startSimulator } from "../../src/simulator/index.ts";
import { startWithFiles } from "../e2e/support/config.ts";
import { ONE_PROCESS } from "../e2e/support/gateway.ts";
import { PEERS, type PeerName, peer } from "../peers/index.ts";

const LIMIT_MS = 60_000;
const PROMPT = "Say hello.";
const SHOWN = 160;

interface Place {
  /** Base URL of the gateway, without a version. */
  readonly url: string;
  readonly model: string;
  /** Home directory of the program. */
  readonly home: string;
}

interface Agent {
  readonly name: string;
  readonly peer: PeerName;
  /** Path from the peer's folder. */
  readonly program: string;
  readonly files?: (place: Place) => Readonly<Record<string, string>>;
  readonly args: (place: Place) => readonly string[];
  readonly env: (place: Place) => Readonly<Record<string, string>>;
}

const platform = `${process.platform}-${process.arch}`;
const openai = ({ url }: Place) => ({ OPENAI_API_KEY: "sk-client", OPENAI_BASE_URL: `${url}/v1` });

const AGENTS: readonly Agent[] = [
  {
    name: "claude-code",
    peer: "agents-js",
    program: `node_modules/@anthropic-ai/claude-code-${platform}/claude`,
    args: ({ model }) => ["-p", PROMPT, "--model", model],
    env: ({ url }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-client", IS_SANDBOX: "1" }),
  },
  {
    name: "codex",
    peer: "agents-js",
    program: "node_modules/.bin/codex",
    files: ({ url, model }) => ({
      "config.toml": [
        `model = "${model}"`,
        'model_provider = "gateway"',
        "[model_providers.gateway]",
        'name = "gateway"',
        `base_url = "${url}/v1"`,
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
        "supports_websockets = true",
      ].join("\n"),
    }),
    args: () => ["exec", "--skip-git-repo-check", PROMPT],
    env: (place) => ({ CODEX_HOME: place.home, OPENAI_API_KEY: "sk-client" }),
  },
  {
    name: "opencode",
    peer: "agents-js",
    program: `node_modules/opencode-${platform}/bin/opencode`,
    files: ({ url, model }) => ({
      "opencode.json": JSON.stringify({
        provider: {
          gateway: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: "sk-client" },
            models: { [model]: {} },
          },
        },
      }),
    }),
    args: ({ model }) => ["run", "--model", `gateway/${model}`, PROMPT],
    env: () => ({}),
  },
  {
    name: "aider",
    peer: "python-aider",
    program: "bin/python",
    args: ({ model }) => [
      ...["-m", "aider"],
      "--no-git",
      "--yes-always",
      "--no-check-update",
      "--model",
      `openai/${model}`,
      "--message",
      PROMPT,
    ],
    env: (place) => ({ ...openai(place), OPENAI_API_BASE: `${place.url}/v1` }),
  },
  {
    name: "qwen-code",
    peer: "agents-js",
    program: "node_modules/.bin/qwen",
    args: ({ model }) => ["--auth-type", "openai", "--model", model, "-p", PROMPT],
    env: (place) => ({ ...openai(place), OPENAI_MODEL: place.model }),
  },
  {
    name: "llm",
    peer: "python-llm",
    // Its scripts name their original folder, which was moved.
    program: "bin/python",
    files: ({ url, model }) => ({
      "extra-openai-models.yaml": JSON.stringify([{ model_id: model, model_name: model, api_base: `${url}/v1` }]),
    }),
    args: ({ model }) => ["-m", "llm", "-m", model, PROMPT],
    env: (place) => ({ LLM_USER_PATH: place.home, OPENAI_API_KEY: "sk-client" }),
  },
];

interface Ran {
  readonly status: number | null;
  readonly text: string;
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  return new Promise((done) => {
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let text = "";
    const read = (more: string): void => {
      text = (text + more).slice(-20_000);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    const limit = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, LIMIT_MS);
    const settle = (status: number | null): void => {
      clearTimeout(limit);
      done({ status, text });
    };
    child.once("error", (error) => {
      read(error.message);
      settle(null);
    });
    child.once("close", settle);
  });
}

const { only } = parseArgs({
  args: process.argv.slice(2).map((it) => it.replace(/^-(?=\w)/, "--")),
  options: { only: { type: "string" } },
}).values;
const wanted = only?.split(",") ?? AGENTS.map(({ name }) => name);
const unknown = wanted.find((name) => !AGENTS.some((agent) => agent.name === name));
if (unknown !== undefined) {
  console.error(`no agent is called \`${unknown}\`; there are ${AGENTS.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const closing: (() => unknown)[] = [];
const owner = { after: (close: () => unknown) => void closing.unshift(close) };
const simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
closing.push(() => simulator.close());
const gateway = await startWithFiles(
  owner as never,
  {
    providers: [
      { name: "oc", dialect: "compat", base_url: `${simulator.url}/v1`, api_key: "k", models: ["sim-compat"] },
      { name: "am", dialect: "messages", base_url: `${simulator.url}/v1`, api_key: "k", models: ["sim-messages"] },
    ],
  },
  {},
  ONE_PROCESS,
);
let failed = 0;
for (const agent of AGENTS.filter(({ name }) => wanted.includes(name))) {
  const found = await peer(agent.peer);
  if (found.missing !== false) {
    console.log(`${agent.name}: left out, ${found.missing}`);
    continue;
  }
  const root = found.path.slice(0, -PEERS[agent.peer].file.length);
  for (const model of ["sim-compat", "sim-messages"]) {
    const home = await mkdtemp(join(tmpdir(), "gateway-agent-"));
    const place = { url: gateway.url, model, home };
    for (const [name, text] of Object.entries(agent.files?.(place) ?? {})) await writeFile(join(home, name), text);
    const path = `${dirname(process.execPath)}:${process.env["PATH"]}`;
    const env = { PATH: path, HOME: home, TERM: "dumb", NO_COLOR: "1", CI: "1", ...agent.env(place) };
    const before = simulator.counts().answered;
    const { status, text } = await run(join(root, agent.program), agent.args(place), home, env);
    const answered = simulator.counts().answered - before;
    const works = status === 0 && answered > 0;
    if (!works) failed += 1;
    const shown = text.replaceAll(/\s+/g, " ").trim().slice(-SHOWN);
    console.log(
      `${agent.name} -> ${model}: ${works ? "works" : "FAILS"} (status ${status}, ${answered} answers) ${shown}`,
    );
    await rm(home, { recursive: true, force: true });
  }
}
for (const close of closing) await close();
process.exitCode = failed > 0 ? 1 : 0;
