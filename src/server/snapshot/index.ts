export { type Compiled, type CompileInput, compileDeployment } from "./compile.ts";
export { DEFAULT_MAX_BODY_BYTES, type Routed, type Snapshot } from "./types.ts";
