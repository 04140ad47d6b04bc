/** Names that tell a provider by themselves. Source: the lists of models of the providers. */

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
