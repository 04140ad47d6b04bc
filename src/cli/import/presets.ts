/** Presets of the catalog, by the names that other gateways give to providers. */

import { compiledCatalog } from "../../server/core/catalog/index.ts";

/** Presets by names that the catalog does not have. */
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

export interface KnownPreset {
  readonly preset: string;
  readonly dialect: "compat" | "messages";
  /** Variable that usually holds the key; empty if there is none. */
  readonly keyEnv: string;
  readonly keyOptional: boolean;
  /** Whether the provider needs a `base_url`, because its address has a placeholder. */
  readonly needsBaseUrl: boolean;
  readonly needsRegion: boolean;
}

/** Returns the preset of a name. `namedPresets` are the presets that the operator named. */
export function presetOf(name: string, namedPresets: ReadonlyMap<string, string>): KnownPreset | undefined {
  const preset = namedPresets.get(name) ?? (Object.hasOwn(NAMES, name) ? NAMES[name] : undefined) ?? name;
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

/**
 * Returns the preset that a name of the operator's own suggests: `openai-prod` suggests `openai`, `azure-openai-eu` suggests
 * `azure-openai`. The longest run of its words that the catalog knows decides; `undefined` if there is none, or several.
 */
export function suggestedPreset(name: string): string | undefined {
  const words = name.toLowerCase().split(/[-_.\s]+/);
  for (let length = Math.min(words.length, 4); length > 0; length -= 1) {
    const found = new Set<string>();
    for (let from = 0; from + length <= words.length; from += 1) {
      const run = words.slice(from, from + length);
      const known = presetOf(run.join("-"), NONE) ?? presetOf(run.join("_"), NONE);
      if (known !== undefined) found.add(known.preset);
    }
    if (found.size > 0) return found.size === 1 ? [...found][0] : undefined;
  }
  return undefined;
}

const NONE: ReadonlyMap<string, string> = new Map();

export const isPreset = (name: string): boolean => compiledCatalog().has(name);
