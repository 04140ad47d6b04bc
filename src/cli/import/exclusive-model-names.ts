/** Model names that only one provider has. Source: the model lists of the providers. */

interface ClaimedNames {
  /** Patterns to claim; `undefined` if the provider shares all of its names with others. */
  readonly names: readonly (string | undefined)[];
  readonly note: string;
}

/**
 * Returns the names to claim for an upstream whose models all have a prefix in the source, since a pattern cannot
 * remove a prefix.
 */
export function claimedNames(preset: string | undefined, prefix: string): ClaimedNames {
  const families = FAMILIES[preset ?? ""] ?? [];
  const instruction = `clients ask for \`${/^[\w.-]{1,64}$/.test(prefix) ? prefix : "PROVIDER"}/NAME\`, and a pattern cannot remove the prefix`;
  return families.length > 0
    ? {
        names: families,
        note: `serves all models: ${instruction}. Let clients ask for NAME (${families.join(", ")}), or add each model to \`model_aliases\``,
      }
    : {
        names: [undefined],
        note: `serves all models: ${instruction}. Nothing is routed to this provider until you add \`models\` or \`model_aliases\``,
      };
}

/** Patterns of names that only one provider has, by preset. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  openai: ["gpt-*", "chatgpt-*", "o1*", "o3*", "o4*", "text-embedding-*", "dall-e-*", "whisper-*", "tts-*"],
  anthropic: ["claude-*"],
  gemini: ["gemini-*"],
  mistral: ["mistral-*", "ministral-*", "codestral-*", "magistral-*", "devstral-*", "pixtral-*"],
  cohere: ["command-*"],
  xai: ["grok-*"],
  deepseek: ["deepseek-*"],
  perplexity: ["sonar*"],
};
