/** Runs smoke.ts on Node.js 24. */
import { smokeTest } from "./smoke.ts";

await smokeTest("node-24");
