/**
 * Simulated provider: starts it, and exports the tables of faults and variants that model names select.
 *
 * - `a2a/`: the simulated agent
 * - `agents/`: code shared by the MCP server and the agent
 * - `stored/`: objects that are stored between requests: batches, files, responses
 * - `mcp/`: the simulated MCP server
 * - `reports/`: usage reports of an organization
 * - `responses/`: the Responses API
 * - `rules/`: rules of a strict provider, in both dialects
 */

export { QUIRKS } from "./agents/quirks.ts";
export type { SigningKey } from "./aws-signature.ts";
export { FAULTS } from "./fault-table.ts";
export { helpText } from "./help-page.ts";
export type { Counts } from "./request-counters.ts";
export { RESPONSE_VARIANTS } from "./response-variants.ts";
export { type Simulator, type SimulatorOptions, startSimulator } from "./start-simulator.ts";
