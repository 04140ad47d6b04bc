/**
 * Node file and deployment document of the measured gateway: 20 providers and 50 aliases, metrics on; in a governing
 * mode also the sections for it and a local socket for minting keys.
 */

import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { MCP_PATH } from "../child/requests.ts";
import { governedSections, guardrailsOf } from "./governed-deployment.ts";

/**
 * `governed` requires keys and applies rules and a budget; `recorded` adds a rule that decides each request; `guarded`
 * adds inspection of requests to `governed`; `guarded answers` inspects answers.
 */
export type GatewayMode = "flag" | "config" | "governed" | "recorded" | "guarded" | "guarded answers";

/** A model of the tenth provider, by its own name and by one of its aliases. */
export const CONFIG_MODEL = "p10-chat";
export const CONFIG_ALIAS = "alias-10";

/** Model of a provider with the messages dialect. */
export const MESSAGES_MODEL = "m-chat";

/** Model of a provider with chat completions alone; a name of the same length. */
export const CHAT_MODEL = "ch-chatt";

/** Model of a provider with signed requests; same upstream, and a name of the same length. */
export const SIGNED_MODEL = "sg-chatt";

const PROVIDERS = 20;
const ALIASES = 50;

interface Configuring {
  readonly mode: Exclude<GatewayMode, "flag">;
  /** Folder of node file and state; existing content is served again. */
  readonly home: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly upstreamPort: number;
  readonly tls?: CertificateFiles;
}

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly chainFile: string;
  readonly keyFile: string;
}

/** Makes a folder for `writeConfiguration`. */
export async function makeHome(folder: string): Promise<string> {
  const home = await mkdtemp(join(folder, "node-"));
  await mkdir(join(home, "state"), { mode: 0o700 });
  return home;
}

export const socketIn = (home: string): string => join(home, "admin.sock");

/** Returns the path of the node file. */
export async function writeConfiguration(options: Configuring): Promise<string> {
  const { home, mode } = options;
  const isGoverned = mode !== "config";
  const node = {
    listen: `127.0.0.1:${options.port}`,
    metrics_listen: `127.0.0.1:${options.metricsPort}`,
    deployment: "deployment.yaml",
    cluster: {
      node_id: "bench",
      data_dir: join(home, "state"),
      secret: "bench-secret-of-the-cluster",
      bootstrap: true,
    },
    ...(isGoverned && { admin: { local_socket: socketIn(home) } }),
    ...(options.tls !== undefined && { tls: { cert_file: options.tls.chainFile, key_file: options.tls.keyFile } }),
  };
  const deployment = {
    ...routing(options.upstreamPort),
    ...(isGoverned && governedSections({ model: CONFIG_MODEL, isRecorded: mode === "recorded" })),
    ...(mode === "guarded" && { guardrails: guardrailsOf(undefined) }),
    ...(mode === "guarded answers" && { guardrails: guardrailsOf(["output"]) }),
  };
  await writeFile(join(home, "node.yaml"), stringify(node));
  await writeFile(join(home, "deployment.yaml"), stringify(deployment));
  return join(home, "node.yaml");
}

/** Alias n belongs to provider n modulo 20 (provider 20 for multiples), so each provider has two or three. */
function routing(upstreamPort: number): object {
  const providers = Array.from({ length: PROVIDERS }, (_, index) => {
    const number = index + 1;
    const aliases = Array.from({ length: ALIASES }, (_, at) => at + 1).filter(
      (alias) => alias % PROVIDERS === number % PROVIDERS,
    );
    return {
      name: `provider-${number}`,
      dialect: "compat",
      base_url: `http://127.0.0.1:${upstreamPort}/v1`,
      api_key: `bench-key-${number}`,
      models: [`p${number}-*`, ...aliases.map((alias) => `alias-${alias}`)],
      model_aliases: Object.fromEntries(aliases.map((alias) => [`alias-${alias}`, `p${number}-chat`])),
    };
  });
  const messages = {
    name: "provider-messages",
    dialect: "messages",
    base_url: `http://127.0.0.1:${upstreamPort}`,
    api_key: "bench-key-messages",
    models: [MESSAGES_MODEL],
  };
  const chat = {
    preset: "deepseek",
    name: "provider-chat",
    base_url: `http://127.0.0.1:${upstreamPort}/v1`,
    api_key: "bench-key-chat",
    models: [CHAT_MODEL],
  };
  const signed = {
    preset: "bedrock",
    name: "provider-signed",
    base_url: `http://127.0.0.1:${upstreamPort}/v1`,
    region: "us-east-1",
    credential: "signer",
    models: [SIGNED_MODEL],
  };
  const cloudsig = {
    access_key_id: "AKIDBENCH",
    secret_access_key: "bench-secret-of-the-cloud",
    session_token: "b".repeat(400),
  };
  const mcp = [{ name: "bench", url: `http://127.0.0.1:${upstreamPort}${MCP_PATH}`, api_key: "bench-key-mcp" }];
  return {
    version: 1,
    default_provider: "provider-1",
    credentials: [{ name: "signer", cloudsig }],
    providers: [...providers, messages, chat, signed],
    mcp,
  };
}
