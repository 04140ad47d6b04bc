/** What other gateways call a provider, and the preset of the catalog that it is. */

import { compiledCatalog } from "../../server/core/catalog/index.ts";

/** What the catalog calls otherwise; names that it has too stand for themselves. */
const NAMES: Readonly<Record<string, string>> = {
  azure: "azure-openai",
  azure_text: "azure-openai",
  google: "gemini",
  "x-ai": "xai",
  "mistral-ai": "mistral",
  codestral: "mistral",
  cohere_chat: "cohere",
  together_ai: "together",
  "together-ai": "together",
  fireworks_ai: "fireworks",
  "fireworks-ai": "fireworks",
  "perplexity-ai": "perplexity",
  nvidia_nim: "nvidia",
  github: "github-models",
  vercel_ai_gateway: "vercel",
  "novita-ai": "novita",
  friendliai: "friendli",
  "text-completion-openai": "openai",
  hosted_vllm: "vllm",
  ollama_chat: "ollama",
  lm_studio: "lmstudio",
  dashscope: "alibaba",
  meta_llama: "llama",
  featherless_ai: "featherless",
  lambda_ai: "lambda",
  jina_ai: "jina",
  gradient_ai: "digitalocean",
  sgl: "sglang",
  "workers-ai": "cloudflare-workers-ai",
  cloudflare: "cloudflare-workers-ai",
};

export interface Known {
  readonly preset: string;
  readonly dialect: "compat" | "messages";
  /** The variable that usually holds the key; empty where there is none. */
  readonly keyEnv: string;
  readonly keyOptional: boolean;
  /** Its own address has a place that only a `base_url` fills. */
  readonly needsBaseUrl: boolean;
  readonly needsRegion: boolean;
}

/** `given` is what the operator said of names that are not known. */
export function presetOf(name: string, given: ReadonlyMap<string, string>): Known | undefined {
  const preset = given.get(name) ?? (Object.hasOwn(NAMES, name) ? NAMES[name] : undefined) ?? name;
  const found = compiledCatalog().get(preset);
  const [channel] = found?.channels ?? [];
  if (found === undefined || channel === undefined) return undefined;
  const { dialect, baseUrl } = channel;
  const places = new Set([...baseUrl.matchAll(/\{(\w+)\}/g)].map(([, place]) => place));
  return {
    preset,
    dialect,
    keyEnv: found.keyEnv,
    keyOptional: found.keyOptional,
    needsRegion: places.delete("region") && places.size === 0,
    needsBaseUrl: places.size > 0,
  };
}

export const isPreset = (name: string): boolean => compiledCatalog().has(name);
