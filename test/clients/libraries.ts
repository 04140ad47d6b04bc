/** The client libraries of the corpus: the program that drives each, and its package. */

export interface Library {
  readonly name: string;
  /** File in `programs/`. */
  readonly program: string;
  /** Name in its registry; the corpus has its version. */
  readonly package: string;
  readonly language: "javascript" | "python" | "go" | "java" | "rust";
  /** One of the program's clients. */
  readonly kind?: string;
}

const javascript = (name: string, program: string, of: string, kind?: string): Library => ({
  name,
  program: `${program}.mjs`,
  package: of,
  language: "javascript",
  ...(kind !== undefined && { kind }),
});

const python = (name: string, program: string, of: string, kind?: string): Library => ({
  name,
  program: `${program}.py`,
  package: of,
  language: "python",
  ...(kind !== undefined && { kind }),
});

export const LIBRARIES: readonly Library[] = [
  javascript("openai-js", "openai-js", "openai"),
  javascript("anthropic-js", "anthropic-js", "@anthropic-ai/sdk"),
  javascript("openai-agents-js", "openai-agents-js", "@openai/agents"),
  javascript("ai-sdk-openai", "ai-sdk", "@ai-sdk/openai", "openai"),
  javascript("ai-sdk-compatible", "ai-sdk", "@ai-sdk/openai-compatible", "compatible"),
  javascript("ai-sdk-anthropic", "ai-sdk", "@ai-sdk/anthropic", "anthropic"),
  javascript("langchain-js-openai", "langchain-js", "@langchain/openai", "openai"),
  javascript("langchain-js-anthropic", "langchain-js", "@langchain/anthropic", "anthropic"),
  javascript("instructor-js", "instructor-js", "@instructor-ai/instructor"),
  javascript("llamaindex-js", "llamaindex-js", "@llamaindex/openai"),
  javascript("mastra", "mastra", "@mastra/core"),
  python("openai-py", "openai-py", "openai"),
  python("anthropic-py", "anthropic-py", "anthropic"),
  python("openai-agents-py", "openai-agents-py", "openai-agents"),
  python("langchain-py-openai", "langchain-py", "langchain-openai", "openai"),
  python("langchain-py-anthropic", "langchain-py", "langchain-anthropic", "anthropic"),
  python("instructor-py", "instructor-py", "instructor"),
  python("pydantic-ai-openai", "pydantic-ai", "pydantic-ai-slim", "openai"),
  python("pydantic-ai-anthropic", "pydantic-ai", "pydantic-ai-slim", "anthropic"),
  python("smolagents", "smolagents", "smolagents"),
  python("haystack", "haystack", "haystack-ai"),
  python("litellm-openai", "litellm", "litellm", "openai"),
  python("litellm-anthropic", "litellm", "litellm", "anthropic"),
  python("dspy", "dspy", "dspy"),
  python("autogen", "autogen", "autogen-ext"),
  python("llama-index-openai", "llama-index-py", "llama-index-llms-openai", "openai"),
  python("llama-index-anthropic", "llama-index-py", "llama-index-llms-anthropic", "anthropic"),
  python("strands-openai", "strands", "strands-agents", "openai"),
  python("strands-anthropic", "strands", "strands-agents", "anthropic"),
  python("agno", "agno", "agno"),
  python("semantic-kernel", "semantic-kernel", "semantic-kernel"),
  python("crewai", "crewai", "crewai"),
];
