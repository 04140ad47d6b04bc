/** Simulated provider: starts it, and exports the tables of faults and variants that its model names ask for. */

export { QUIRKS } from "./agents/quirks.ts";
export type { Counts } from "./counts.ts";
export { FAULTS, type FaultRow } from "./faults.ts";
export { helpText } from "./help.ts";
export { HEALTHY_MODELS } from "./models.ts";
export { MANNERS, type MannerRow } from "./response-variants.ts";
export { type Simulator, type SimulatorOptions, startSimulator } from "./server.ts";
export type { SignatureRules, SigningKey } from "./signed.ts";
