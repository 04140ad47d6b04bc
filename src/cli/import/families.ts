/** Names that tell a provider by themselves. Source: the lists of models of the providers. */

export interface OpenNames {
  /** Patterns that are claimed; undefined for none, where no family of names is the provider's alone. */
  readonly names: readonly (string | undefined)[];
  readonly words: string;
}

/** Of an upstream that takes all of its models, behind a prefix that clients write and no pattern can take away. */
export function openNames(preset: string | undefined, prefix: string): OpenNames {
  const families = FAMILIES[preset ?? ""] ?? [];
  const asked = `clients ask for \`${/^[\w.-]{1,64}$/.test(prefix) ? prefix : "PROVIDER"}/NAME\`, and a pattern cannot remove the prefix`;
  return families.length > 0
    ? {
        names: families,
        words: `serves all models: ${asked}. Let clients ask for NAME (${families.join(", ")}), or add each model to \`model_aliases\``,
      }
    : {
        names: [undefined],
        words: `serves all models: ${asked}. Nothing is routed to this provider until you add \`models\` or \`model_aliases\``,
      };
}

/** What a provider's own models are called, where nobody else's are. */
export const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  openai: ["gpt-*", "chatgpt-*", "o1*", "o3*", "o4*", "text-embedding-*", "dall-e-*", "whisper-*", "tts-*"],
  anthropic: ["claude-*"],
  gemini: ["gemini-*"],
  mistral: ["mistral-*", "ministral-*", "codestral-*", "magistral-*", "devstral-*", "pixtral-*"],
  cohere: ["command-*"],
  xai: ["grok-*"],
  deepseek: ["deepseek-*"],
  perplexity: ["sonar*"],
};
