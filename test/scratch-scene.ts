import { startScene } from "./e2e/console/support/scene.ts";
const afters: (() => unknown)[] = [];
const owner = { after: (f: () => unknown) => afters.push(f), name: "x" } as never;
const scene = await startScene(owner);
console.log(scene.socket);
setInterval(() => { scene.failAgain().catch(() => {}); }, 20000);
process.on("SIGTERM", async () => { for (const f of afters.reverse()) await f(); process.exit(0); });
