export { type Compiled, type CompileInput, compileDeployment, type NamedOverlay } from "./compile.ts";
export { DEFAULT_MAX_BODY_BYTES, type Routed, type Snapshot } from "./types.ts";
