export {
  answerRegistry,
  isRegistryPath,
  NO_PUBLIC_URL,
  REGISTRY_HEADERS,
  type RegistryAnswer,
} from "./registry-answer.ts";
export { type RegistryEntry, registryEntries } from "./registry-entries.ts";
