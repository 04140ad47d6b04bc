/**
 * Presets of self-hosted servers, usually behind a `pool`. Source: provider catalog reference, 2.3. The route `completions`,
 * everything about `sglang`, and the address of `llamacpp` are general knowledge.
 */

import { plus, S, without } from "../capability-sets.ts";
import { compat, type PresetRow } from "./preset-row.ts";

const vllmClaims = () => plus(S("V", "A", "J", "R", "L", "N", "E", "T", "X"), "completions");
const ollamaClaims = () => plus(without(S("V", "J", "R", "E", "X"), "tool_choice"), "completions");

export const selfHosted = (): readonly PresetRow[] => [
  compat("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", ["DD"], vllmClaims(), { keyOptional: true }),
  compat("sglang", "http://localhost:30000/v1", "", ["general"], vllmClaims(), { keyOptional: true }),
  compat("ollama", "http://localhost:11434/v1", "", ["DD"], ollamaClaims(), { keyOptional: true }),
  compat("ollama-cloud", "https://ollama.com/v1", "OLLAMA_API_KEY", ["DD", "MD"], ollamaClaims()),
  compat("lmstudio", "http://localhost:1234/v1", "", ["DD"], plus(S("V", "J", "E", "X"), "completions"), {
    keyOptional: true,
  }),
  compat("llamacpp", "http://localhost:8080/v1", "", ["general"], plus(S("V", "J", "L", "E", "RR"), "completions"), {
    keyOptional: true,
  }),
  compat("docker-model-runner", "http://model-runner.docker.internal/engines/{engine}/v1", "", ["LLD"], S(), {
    keyOptional: true,
  }),
];
