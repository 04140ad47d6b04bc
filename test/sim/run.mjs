/** `npm run sim -- …`: starts `launch.ts`, which compiles the simulator and runs it. The options are in `options.ts`. */

import { register } from "tsx/esm/api";

register();
await import("./launch.ts");
