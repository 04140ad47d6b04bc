export { unknownName } from "./check.ts";
export { deploymentChecks } from "./checks.ts";
export { operationChecks } from "./overlays.ts";
