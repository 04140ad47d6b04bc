export {
  answerRegistry,
  isOfRegistry,
  NO_PUBLIC_URL,
  REGISTRY_HEADERS,
  type RegistryAnswer,
} from "./answer.ts";
export { type RegistryEntry, registryEntries } from "./entries.ts";
