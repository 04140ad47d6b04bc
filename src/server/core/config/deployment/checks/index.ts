export { deploymentChecks } from "./checks.ts";
export { operationChecks } from "./overlays.ts";
